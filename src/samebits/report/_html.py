"""A report as one self-contained page."""

import html
import io

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from samebits.report._model import Report
from samebits.report._terminal import render

WIDTH = 120

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ margin: 2rem auto; max-width: 75rem; padding: 0 1rem; font-family: system-ui, sans-serif; }}
pre {{ overflow-x: auto; font-family: ui-monospace, Menlo, Consolas, monospace; line-height: 1.35; }}
summary {{ cursor: pointer; }}
</style>
</head>
<body>
<h1>{title}</h1>
<pre>{body}</pre>
<details><summary>The same as JSON</summary><pre id="report">{data}</pre></details>
</body>
</html>
"""


def page(report: Report) -> str:
    console = Console(file=io.StringIO(), record=True, width=WIDTH, force_terminal=True, legacy_windows=False)
    console.print(render(report))
    body = console.export_html(theme=DEFAULT_TERMINAL_THEME, inline_styles=True, code_format="{code}")
    title = html.escape(f"samebits audit of {report.subject}: {report.verdict}")
    return _PAGE.format(title=title, body=body, data=html.escape(report.to_json()))
