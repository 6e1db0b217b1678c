"""A robot on a page in the browser, or in a picture.

Shapes, poses, sliders, numbers and the time line are plain data and functions; only `stage`, `player` and `page` talk to
viser, only `picture` to matplotlib. To show a new kind of mechanism, write a class like `subject.Subject` and register it in
`subjects`.
"""
