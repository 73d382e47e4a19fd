"""A library's desk, and its reader's own terminal: a domain of the stand-in, in which both sides act."""

import json
import os
from pathlib import Path

from tau2.environment.environment import Database, Environment, Toolkit

_DATA = Path(os.environ["TAU2_DATA_DIR"]) / "tau2" / "domains" / "library"


class Desk(Toolkit):
    mutating = ("lend", "fine", "break_down", "lose_everything")

    def look_up(self, book: str):
        """Look up a book."""
        return {"book": book, **self.db.data["books"][book]}

    def lend(self, book: str, reader: str):
        """Lend a book to a reader."""
        found = self.db.data["books"][book]
        if found["lent_to"] is not None:
            raise ValueError(f"{book} is lent to {found['lent_to']}")
        if self.db.data["readers"][reader]["blocked"]:
            raise ValueError(f"{reader} is blocked")
        found["lent_to"] = reader
        self.db.data["loans"].append({"book": book, "reader": reader, "fee": 0.5})
        return found

    def fine(self, reader: str, amount: float):
        """Fine a reader, who is blocked then until it is paid."""
        self.db.data["readers"][reader] |= {"owes": amount, "blocked": True}
        return "fined"

    def break_down(self):
        """End the process."""
        os._exit(3)

    def lose_everything(self):
        """Leave a database of another kind behind."""
        self.db.data["books"] = "gone"


class Terminal(Toolkit):
    mutating = ("pay",)

    def balance(self):
        """What the reader owes."""
        return self.db.data["account"]["owes"]

    def pay(self):
        """Pay what is owed."""
        self.db.data["account"]["paid"] = True
        return "paid"

    def checks(self, owes):
        return self.db.data["account"]["owes"] == owes


class Library(Environment):
    def sync_tools(self):
        """What is paid at the terminal is settled at the desk, and the terminal shows what is owed there."""
        account, readers = self.user_tools.db.data["account"], self.tools.db.data["readers"]
        reader = readers[account["reader"]]
        if account["paid"]:
            reader |= {"owes": 0, "blocked": False}
            account["paid"] = False
        account["owes"] = reader["owes"]


def get_environment(solo_mode=False):
    database = json.loads((_DATA / "db.json").read_text())
    terminal = {"account": {"reader": "mia", "owes": 0, "paid": False}}
    return Library((_DATA / "policy.md").read_text(), Desk(Database(database)), Terminal(Database(terminal)), solo_mode)
