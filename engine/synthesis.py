"""Sets of environments: many origins produced, in as many processes as there are cores, and what came of them.

Knows processes, files of products and figures of a set. Does not know how one environment is made or judged
(`worlds.synth.producing`). Products come in the order of their origins, however many processes made them, so the same
plan leaves the same files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path

import msgspec
import trio

from ..worlds.reading import read_environment
from ..worlds.synth import receipt as receipts
from ..worlds.synth.coverage import covered, reachable_pairs
from ..worlds.synth.family import families
from ..worlds.synth.making import identity
from ..worlds.synth.near import evenness, four_gram_overlap, near_duplicates
from ..worlds.synth.origin import Origin
from ..worlds.synth.producing import Product, produce, wanted
from ..worlds.synth.validators.determinism import probe
from .files import write_whole
from .playing import play_program
from .workers import workers

LEDGER = "products.jsonl"
"""What came of each origin, a line each, as they were finished; the next production goes on from there."""


class Made(msgspec.Struct, frozen=True):
    """A line of the ledger."""

    release: str
    product: Product
    """Without text and receipt: these are files."""
    content: str = ""
    """SHA-256 of the environment's file and its receipt; empty where there are none."""


def place(folder: Path, origin: Origin) -> Path:
    """Where the environment of an origin lies in a set's folder."""
    return folder / f"{identity(origin)}.yaml"


class Workshop:
    """A folder in which environments are produced."""

    def __init__(self, folder: Path, release: str) -> None:
        self.folder = folder
        self._release = release
        self._known = dict(self._read())

    def _read(self) -> Iterator[tuple[str, Made]]:
        """What was made, by identity. A line that was cut off, or damaged, or of another release, says nothing."""
        try:
            lines = (self.folder / LEDGER).read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                made = msgspec.json.decode(line, type=Made)
                whole = bool(made.content) == bool(made.product.digest)
                if whole and made.release == self._release and made.product.origin.family in families():
                    yield identity(made.product.origin), made

    def produce(self, origins: Sequence[Origin], jobs: int) -> Generator[Product, None, None]:
        """What comes of all origins, in their order, made in so many processes; what is there already is kept.

        When it is closed early, what was written stays. Raises BrokenProcessPool where one of the processes was killed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        waiting: deque[tuple[Origin, Product | Future[Product]]] = deque()
        rest = iter(origins)
        with _processes(jobs) as submit:
            while True:
                while len(waiting) < 8 * jobs and (origin := next(rest, None)) is not None:
                    waiting.append((origin, self._kept(origin) or submit(origin, self._release)))
                if not waiting:
                    return
                origin, product = waiting.popleft()
                yield self._stored(product.result()) if isinstance(product, Future) else product

    def _kept(self, origin: Origin) -> Product | None:
        made = self._known.get(identity(origin))
        if made is None:
            return None
        if made.content and _content(place(self.folder, origin)) != made.content:
            return None
        return made.product

    def _stored(self, product: Product) -> Product:
        """Write a product's files, each whole or not at all, and then its line of the ledger."""
        path = place(self.folder, product.origin)
        path.parent.mkdir(parents=True, exist_ok=True)
        if product.text:
            write_whole(receipts.path_of(path), product.receipt)
            write_whole(path, product.text.encode())
        slim = msgspec.structs.replace(product, text="", receipt=b"")
        made = Made(self._release, slim, _content(path) if product.text else "")
        self._write_line(msgspec.json.encode(made))
        self._known[identity(product.origin)] = made
        return slim

    def _write_line(self, line: bytes) -> None:
        with (self.folder / LEDGER).open("a+b") as ledger:
            if ledger.tell():
                ledger.seek(-1, os.SEEK_END)
                if ledger.read() != b"\n":  # the last line was cut off
                    line = b"\n" + line
            ledger.write(line + b"\n")


@contextmanager
def _processes(jobs: int) -> Iterator[Callable[[Origin, str], Future[Product]]]:
    """Where products are made: here, one after the other, or in so many processes."""
    if jobs < 2:
        yield _at_once
        return
    with workers(jobs) as pool:
        yield lambda origin, release: pool.submit(_made, origin, release)


def _at_once(origin: Origin, release: str) -> Future[Product]:
    future: Future[Product] = Future()
    future.set_result(_made(origin, release))
    return future


def _made(origin: Origin, release: str) -> Product:
    return trio.run(partial(produce, origin, play_program, release))


def _content(path: Path) -> str:
    try:
        return sha256(path.read_bytes() + receipts.path_of(path).read_bytes()).hexdigest()
    except OSError:
        return ""


# --- figures -----------------------------------------------------------------------------------------------


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a set comes to. Shares are of what was asked for."""

    asked: int
    made: int
    """Environments that are there, each with a receipt."""
    sound_at_once: int
    """Of them, those that needed neither repair nor other facts."""
    repaired: int
    """Of them, those that an edit mended."""
    made_anew: int
    """Of them, those that were made with other facts."""
    discarded: dict[str, int]
    """How many were discarded, by the first validator that failed to the end, or by why they could not be made."""
    families: dict[str, str]
    """By family: `made/asked`."""
    keys: int
    """Different structural keys."""
    pairs: str
    """`covered/reachable` pairs of capabilities."""
    evenness: str
    """Of the families, in [0, 1]."""
    overlap: str
    """Share of 4-grams of words that two requests have in common, on average."""
    near_duplicates: int
    """Pairs of requests that are at least 80 % alike."""


def figures(products: Sequence[Product]) -> Figures:
    """What a set of products comes to."""
    made = [product for product in products if product.digest]
    asked_of = Counter(product.origin.family for product in products)
    made_of = Counter(product.origin.family for product in made)
    capabilities = sorted({name for product in products for name in product.origin.capabilities})
    reachable = reachable_pairs(capabilities, wanted().compatible)
    shown = covered(product.origin.capabilities for product in made)
    found = sum(tuple(sorted(pair)) in shown.pairs for pair in reachable)
    reasons = Counter(_why(product) for product in products if not product.digest)
    texts = {product.digest: product.request for product in made}
    return Figures(
        asked=len(products),
        made=len(made),
        sound_at_once=sum(not product.failed for product in made),
        repaired=sum(product.repairs > 0 for product in made),
        made_anew=sum(product.origin.attempt > 0 for product in made),
        discarded=dict(sorted(reasons.items())),
        families={name: f"{made_of[name]}/{count}" for name, count in sorted(asked_of.items())},
        keys=len({product.key for product in made}),
        pairs=f"{found}/{len(reachable)}",
        evenness=f"{evenness(made_of.values()):.3f}",
        overlap=f"{four_gram_overlap(list(texts.values())):.3f}",
        near_duplicates=len(near_duplicates(texts)),
    )


def _why(product: Product) -> str:
    return f"validator {product.discarded[0]}" if product.discarded else product.reason


# --- other processes ---------------------------------------------------------------------------------------

HASH_SEEDS = ("0", "1", "4711")


def determinism(paths: Sequence[Path]) -> list[str]:
    """Environments whose episodes differ between processes with different hash seeds, a sentence each."""
    said = [_probed(paths, seed) for seed in HASH_SEEDS]
    return [
        f"{path}: its episodes differ between processes." for path, *digests in zip(paths, *said) if len({*digests}) > 1
    ]


def _probed(paths: Sequence[Path], hash_seed: str) -> list[str]:
    command = [sys.executable, "-m", __name__, *map(str, paths)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def main(paths: Sequence[str]) -> None:
    """Print a digest of all episodes of each environment: what `determinism` compares."""
    for path in paths:
        sys.stdout.write(trio.run(partial(probe, read_environment(Path(path)), play_program)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
