"""The style sheet of reports: a white page that also prints well."""

CSS = """
:root { --ink: #1b1f24; --faint: #5b6570; --line: #d7dce1; --tint: #f3f6f9; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.5rem 4rem; color: var(--ink); background: #fff;
       font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; padding-top: .8rem; border-top: 1px solid var(--line); }
p.source { color: var(--faint); margin: 0 0 1.2rem; max-width: 52rem; }
a { color: var(--accent); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .8rem .28rem 0; text-align: left; vertical-align: top; white-space: pre-line; }
th { border-bottom: 2px solid var(--ink); font-weight: 600; }
td { border-bottom: 1px solid var(--line); }
td.number, th.number { text-align: right; }
tr.printed td { background: var(--tint); }
td:first-child, th:first-child { padding-left: .5rem; }
ul.notes { color: var(--faint); font-size: .9rem; padding-left: 1.2rem; max-width: 56rem; }
ul.notes li { margin: .25rem 0; }
figure { margin: 1.6rem 0; padding-top: 1.4rem; border-top: 1px solid var(--line); }
figure img { max-width: 100%; height: auto; display: block; }
figcaption { font-weight: 600; margin-top: .3rem; }
nav ul { columns: 2; font-size: .92rem; padding-left: 1.2rem; }
footer table { font-size: .82rem; }
@media print { body { max-width: none; padding: 0; } h2, figure, tr { break-inside: avoid; } }
"""
