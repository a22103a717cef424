"""Runs functions of samebits.native for a test, in a process with an instruction set and threads of its own.

stdin and stdout carry pickles: (flush, function, arguments, keywords) in, (result or exception, mode kept) out. With
flush, the thread's FTZ and DAZ are set before the call, as XLA:CPU or a library built with -ffast-math leaves them.
"""

import ctypes
import pickle
import sys

from samebits import native

FTZ_DAZ = 0x8040
_STICKY = 0x3F
SMALLEST = 5e-324


class HostMode:
    """MXCSR of this thread, through the C library's fenv_t (x86-64 glibc keeps it in the last of eight words)."""

    def __init__(self):
        self.libm = ctypes.CDLL("libm.so.6")
        self.env = (ctypes.c_uint32 * 8)()

    def read(self):
        self.libm.fegetenv(self.env)
        return self.env[7] & ~_STICKY

    def write(self, mxcsr):
        self.libm.fegetenv(self.env)
        self.env[7] = mxcsr
        self.libm.fesetenv(self.env)


def call(mode, flush, name, arguments, keywords):
    function = getattr(native, name)
    if not flush:
        return function(*arguments, **keywords), True
    usual, one = mode.read(), float("1")  # not a constant, which would be folded
    mode.write(usual | FTZ_DAZ)
    try:
        # A product that flushes shows that the mode is really on.
        flushed = SMALLEST * one == 0
        result = function(*arguments, **keywords)
        kept = mode.read() == usual | FTZ_DAZ
    finally:
        mode.write(usual)
    return result, kept and flushed


def main():
    mode = HostMode()
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            flush, name, arguments, keywords = pickle.load(requests)
        except EOFError:
            return
        try:
            reply = call(mode, flush, name, arguments, keywords)
        except Exception as error:
            reply = (error, True)
        pickle.dump(reply, replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()


if __name__ == "__main__":
    main()
