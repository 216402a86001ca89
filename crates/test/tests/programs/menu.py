"""A full-screen menu for the tests of awaitty-test. Like Ratatui it draws only the cells that change.

Keys: up and down move; enter opens an entry; esc goes back; l loads for a while; t sets a title; b moves the cursor;
p shows a password prompt; s starts a spinner; d starts a daemon; q exits with status 0, x with 3. With the argument
`broken`, esc does nothing.
"""

import os
import re
import select
import signal
import subprocess
import sys
import termios
import tty

ITEMS = ["One", "Two", "Three"]
IS_BROKEN = "broken" in sys.argv
HAS_MOUSE = "nomouse" not in sys.argv


def out(text):
    os.write(1, text.encode())


def at(row, text):
    return f"\x1b[{row};1H\x1b[2K{text}"


def item(index, current):
    text = f"  {ITEMS[index]}  "
    return at(3 + index, f"\x1b[7m{text}\x1b[m" if index == current else text)


def draw_menu(current):
    rows = "".join(item(index, current) for index in range(len(ITEMS)))
    out(at(1, "\x1b[1;31mMain menu\x1b[m") + rows + at(7, "[ OK ]  [ Cancel ]  [ OK! ]"))


class Menu:
    def __init__(self):
        self.current = 0
        self.is_open = False
        self.timeout = None
        self.ticks = 0
        self.buffer = ""

    def key(self, key):
        if key in ("\x1b[A", "\x1b[B") and not self.is_open:
            before = self.current
            self.current = (before + (1 if key == "\x1b[B" else -1)) % len(ITEMS)
            out(item(before, self.current) + item(self.current, self.current))
        elif key == "\r":
            self.is_open = True
            name = ITEMS[self.current]
            out(at(1, f"Entry {name}") + "".join(at(row, "") for row in range(3, 9)))
        elif key == "\x1b":
            if not IS_BROKEN:
                self.is_open = False
                draw_menu(self.current)
        elif key == "l":
            out(at(8, "Loading"))
            self.timeout = 0.2
        elif key == "s":
            self.timeout = 0.05
            self.ticks = 1
        elif key == "t":
            out("\x1b]2;menu: changed\x07")
        elif key == "b":
            out("\x1b[?25h\x1b[5;9H")
        elif key == "p":
            out(at(8, "Password: ok"))
        elif key == "d":
            null = subprocess.DEVNULL
            subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=null, stdout=null, stderr=null)
            out(at(8, "daemon started"))
        elif key == "q":
            self.exit(0)
        elif key == "x":
            self.exit(3)
        elif match := re.fullmatch(r"\x1b\[<(\d+);(\d+);(\d+)([Mm])", key):
            if match[4] == "M":
                out(at(8, f"clicked {match[3]}:{match[2]}"))
        elif key.startswith("\x1b[200~"):
            out(at(8, f"pasted {key[6:-6]!r}"))
        else:
            out(at(8, f"key {key!r}"))

    def exit(self, status):
        out("\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[?1049l")
        termios.tcsetattr(0, termios.TCSADRAIN, SAVED)
        os._exit(status)

    def tick(self):
        if self.ticks:
            self.ticks += 1
            out(at(8, f"spinner {self.ticks}"))
            return
        self.timeout = None
        out(at(8, "Loaded"))

    def keys(self, text):
        pattern = r"\x1b\[200~.*?\x1b\[201~|\x1b\[<[\d;]+[Mm]|\x1b\[[A-D]|\x1b|.|\r"
        return re.findall(pattern, text, re.DOTALL)

    def run(self):
        while True:
            ready, _, _ = select.select([0, WAKE], [], [], self.timeout)
            if WAKE in ready:
                os.read(WAKE, 100)
                size = os.get_terminal_size()
                out(at(8, f"size {size.columns}x{size.lines}"))
            elif 0 in ready:
                for key in self.keys(os.read(0, 4096).decode()):
                    self.key(key)
            else:
                self.tick()


SAVED = termios.tcgetattr(0)
WAKE, wake_end = os.pipe()
os.set_blocking(wake_end, False)
signal.set_wakeup_fd(wake_end)
signal.signal(signal.SIGWINCH, lambda *_: None)
tty.setraw(0)
out("\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b]2;menu\x07" + ("\x1b[?1000h\x1b[?1006h" if HAS_MOUSE else ""))
draw_menu(0)
out(at(10, "? keys"))
Menu().run()
