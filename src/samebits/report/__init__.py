"""What an audit found, and how it is shown: terminal, JSON, HTML."""

from samebits.report._model import (
    SEVERITY as SEVERITY,
    Axis as Axis,
    Difference as Difference,
    Finding as Finding,
    Report as Report,
    Status as Status,
    Verdict as Verdict,
)
