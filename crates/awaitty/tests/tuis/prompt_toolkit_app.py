"""A radio list and a line editor of prompt_toolkit. Writes the answers to the file of its argument."""

import json
import sys

from prompt_toolkit import prompt
from prompt_toolkit.shortcuts import radiolist_dialog

COLOURS = ("red", "green", "blue", "black")
colour = radiolist_dialog(title="Colour", text="Which colour?", values=[(name, name) for name in COLOURS]).run()
name = prompt("Name: ")
with open(sys.argv[1], "w") as file:
    json.dump({"colour": colour, "name": name}, file)
