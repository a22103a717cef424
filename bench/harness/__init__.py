"""What the packages beside it share: child processes that take turns, a timer in C, ratios, pages, pictures.

work.py, tables.py       something to be timed; a table: which cases, against whom, with which targets
driver.py, turns.py      the driver: child processes with their settings, which take turns
worker.py                the child: times what the driver asks for
arrays.py                where operands lie
calls.py                 what is timed; calls through Python
native.py, timer.c       calls through the C ABI
roofline.py, machine.py  what the machine allows
summary.py               from times to ratios; page.py and picture.py: from ratios to files
"""
