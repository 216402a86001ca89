"""The programs that run in the terminals: programs.py NAME MARK.

Each writes the time of the awaited event (time.monotonic_ns) into the file MARK just before the event, so that results
can be checked independently. No awaited word is in a command line.
"""

import os
import signal
import sys
import time
import tty

STAY_S = 60  # longer than any deadline, so that no program is left forever
SPINNER = "⠋⠙⠹⠸⠼⠴"


def show(text):
    os.write(1, text.encode())


def mark():
    path = sys.argv[2]
    with open(path + ".new", "w") as file:
        file.write(str(time.monotonic_ns()))
    os.rename(path + ".new", path)  # atomic for readers


def stay():
    signal.alarm(STAY_S)
    signal.pause()


def key(first):
    """Shows the first screen and waits for a key without echo."""
    tty.setcbreak(0)
    show(first)
    os.read(0, 1)


def late():
    time.sleep(0.3)
    mark()
    show("ARRIVED\r\n")
    stay()


def repl():
    """Responds to each line immediately."""
    show("UP\r\n")
    while os.read(0, 1000):
        mark()
        show("ANSWER\r\n")


def stale():
    key("READY\r\n")
    time.sleep(0.4)
    mark()
    show("READY\r\n")
    stay()


def echo():
    """The terminal echoes the line, and the response follows later."""
    show("UP\r\n")
    os.read(0, 1000)
    time.sleep(0.4)
    mark()
    show("READY\r\n")
    stay()


def flash():
    time.sleep(0.8)  # the wait has started by then
    mark()
    show("FLASH")
    time.sleep(0.02)
    show("\r\x1b[K")
    stay()


def last():
    time.sleep(0.3)
    mark()
    show("LAST WORDS\r\n")
    sys.exit(3)


def react():
    key("UP\r\n")
    time.sleep(0.6)
    mark()
    show("REACTED\r\n")
    stay()


def unmoved():
    """Reads a key and prints nothing."""
    key("UP\r\n")
    mark()
    stay()


def spinner():
    """An endless spinner. Below it, six steps of 100 ms each."""
    show("\x1b[2J")
    start = time.monotonic()
    for turn in range(STAY_S * 20):
        show(f"\x1b[1;1H{SPINNER[turn % len(SPINNER)]} working")
        if turn % 2 == 0 and turn <= 12:
            if turn == 12:
                mark()
            show(f"\x1b[5;3Hstep {turn // 2} of 6")
        time.sleep(max(0, start + (turn + 1) * 0.05 - time.monotonic()))


def heavy():
    show("UP\r\n")
    time.sleep(0.7)  # some systems match only output after the start of the wait
    show("a" * 30 + "b\r\n")
    stay()


def idle():
    show("UP\r\n")
    stay()


PROGRAMS = (mark, late, repl, stale, echo, flash, last, react, unmoved, spinner, heavy, idle)
{program.__name__: program for program in PROGRAMS}[sys.argv[1]]()
