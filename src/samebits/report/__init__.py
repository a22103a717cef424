"""What an audit found, and how it is shown: terminal, JSON, HTML."""

from samebits.report._evidence import (
    MOST_ROWS as MOST_ROWS,
    Candidate as Candidate,
    Cause as Cause,
    Magnifier as Magnifier,
    Measurement as Measurement,
    Step as Step,
    Tree as Tree,
    Witness as Witness,
)
from samebits.report._model import (
    MOST_ENTRIES as MOST_ENTRIES,
    SEVERITY as SEVERITY,
    Axis as Axis,
    Difference as Difference,
    Entry as Entry,
    Finding as Finding,
    Report as Report,
    Status as Status,
    Verdict as Verdict,
)
