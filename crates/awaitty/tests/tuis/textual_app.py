"""A Textual app with a list, an input and buttons. Writes the answers to the file of its argument.

Textual reads its terminal in a second thread.
"""

import json
import sys

from textual.app import App
from textual.widgets import Button, Input, OptionList, Static

ENTRIES = ("north", "east", "south", "west")


class Form(App):
    CSS = "OptionList { height: 6; } Button { margin: 0 2; }"

    def compose(self):
        yield Static("Where to?")
        yield OptionList(*ENTRIES)
        yield Input(placeholder="name")
        yield Button("Save it", id="save")
        yield Button("Leave it", id="leave")

    def on_mount(self):
        self.chosen = None

    def on_option_list_option_selected(self, event):
        self.chosen = str(event.option.prompt)
        self.query_one(Static).update(f"Chosen: {self.chosen}")
        self.query_one(Input).focus()

    def on_input_submitted(self):
        self.query_one("#save").focus()

    def on_button_pressed(self, event):
        answers = {"chosen": self.chosen, "name": self.query_one(Input).value, "pressed": event.button.id}
        with open(sys.argv[1], "w") as file:
            json.dump(answers, file)
        self.exit()


Form().run()
