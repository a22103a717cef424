"""A contract type for import-linter: each part of the package imports only what its arrow names.

import-linter's own types list what is forbidden, so a new part or dependency would be allowed until somebody thinks
of it; here it is refused until pyproject.toml ([tool.importlinter], ``arrows``) allows it. Only direct imports count:
whatever they import has an arrow of its own.
"""

import sys
from collections.abc import Iterator
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


class ArrowsContract(Contract):
    """Options: ``arrows``, lines of "part -> module ..." ("*": anything), and ``everywhere``, what all may import."""

    arrows = cast("list[str]", fields.ListField(subfield=fields.StringField()))
    everywhere = cast("list[str]", fields.ListField(subfield=fields.StringField(), required=False, default=[]))

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Finds each direct import that no arrow allows, and each module that belongs to no part."""
        allowed = {}
        for line in self.arrows:
            part, _, targets = line.partition("->")
            allowed[part.strip()] = targets.split()
        broken = list(self._broken(graph, allowed))
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def _broken(self, graph: ImportGraph, allowed: dict[str, list[str]]) -> Iterator[str]:
        root = self.session_options["root_packages"][0]
        for module in sorted(m for m in graph.modules if _within(m, root) and m not in self.everywhere):
            part = next((p for p in allowed if _within(module, p)), None)
            if part is None:
                yield f"{module} belongs to no part: give it an arrow in pyproject.toml"
                continue
            targets = [part, *allowed[part]]
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                if imported in sys.stdlib_module_names or imported in self.everywhere or "*" in targets:
                    continue
                if not any(_within(imported, target) for target in targets):
                    lines = [d["line_number"] for d in graph.get_import_details(importer=module, imported=imported)]
                    yield f"{module} -> {imported} (line {', '.join(map(str, lines))})"

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints one line for each broken import."""
        for line in check.metadata["broken"]:
            output.print_error(line, bold=False)
