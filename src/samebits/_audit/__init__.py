"""The audit: does a row's result depend on the batch that it is in?"""

from samebits._audit._audit import audit as audit
from samebits._audit._errors import AuditError as AuditError, AuditInterrupted as AuditInterrupted
