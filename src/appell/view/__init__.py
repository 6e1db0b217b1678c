"""Robots on a page in the browser, or in a picture.

Shapes, poses, sliders, tables and the timeline are plain data and functions; only `viser_scene`, `timeline` and `page` use
viser, only `picture` uses matplotlib. A new type of mechanism needs a class like `subject.Subject`, registered in `subjects`.
"""

LOCAL, PORT = "127.0.0.1", 8080
"""Default address of the viewer."""
