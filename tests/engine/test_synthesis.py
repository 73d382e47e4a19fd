"""Sets on disk: the same plan leaves the same files anywhere, in any number of processes, after any interruption."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
import trio

from coworkenv.engine import synthesis
from coworkenv.engine.playing import play_program
from coworkenv.engine.sets import split_set, whole_set
from coworkenv.engine.synthesis import LEDGER, Workshop, determinism, figures, place
from coworkenv.worlds.compiling import digest
from coworkenv.worlds.reading import read_environment
from coworkenv.worlds.synth import receipt as receipts
from coworkenv.worlds.synth.coverage import CannotCover
from coworkenv.worlds.synth.freezing import freeze
from coworkenv.worlds.synth.making import Impossible, identity, make
from coworkenv.worlds.synth.manifest import RINGS, manifest, member
from coworkenv.worlds.synth.origin import Origin
from coworkenv.worlds.synth.producing import Product, wanted
from coworkenv.worlds.synth.solving import Unsolvable
from coworkenv.worlds.synth.splits import check_splits
from coworkenv.worlds.synth.structure import structural_key

ORIGINS = [
    Origin(seed=1, family=family, capabilities=capabilities)
    for family, capabilities in (
        ("refunds", ("A1",)),
        ("leave", ("C1",)),
        ("leave", ("H3",)),  # a family of the other mode: cannot be
        ("grants", ("B1", "G2")),
        ("files", ("D2",)),
    )
]
SOUND = [origin for origin in ORIGINS if origin.capabilities != ("H3",)]
RELEASE = "1.2.3"


def files(folder: Path) -> dict[str, str]:
    """What lies in a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def environments(folder: Path) -> dict[str, str]:
    """The same without the ledger, in which a line is written for each time that something is made."""
    return {path: content for path, content in files(folder).items() if path != LEDGER}


def produced(folder: Path, origins: Sequence[Origin] = ORIGINS, jobs: int = 1, release: str = RELEASE) -> list[Product]:
    return list(Workshop(folder, release).produce(origins, jobs))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which all origins were produced. Not to be changed."""
    folder = tmp_path_factory.mktemp("whole")
    produced(folder)
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "copy"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Origin]:
    """The origins that are really made from here on."""
    seen: list[Origin] = []
    original = synthesis._made

    def spied(origin: Origin, release: str) -> Product:
        seen.append(origin)
        return original(origin, release)

    monkeypatch.setattr(synthesis, "_made", spied)
    return seen


def test_each_environment_lies_there_frozen_with_its_receipt(whole: Path) -> None:
    for origin in SOUND:
        path = place(whole, origin)
        environment = read_environment(path)
        assert environment.id == identity(origin)
        assert environment.frozen == trio.run(freeze, environment, play_program)
        receipt = receipts.read(receipts.path_of(path))
        assert receipt is not None
        assert receipt.digest == digest(environment)
    assert len(files(whole)) == 2 * len(SOUND) + 1


def test_in_two_processes_and_another_folder_all_files_are_the_same(whole: Path, tmp_path: Path) -> None:
    products = produced(tmp_path / "far" / "away", jobs=2)
    assert [product.origin for product in products] == ORIGINS
    assert files(tmp_path / "far" / "away") == files(whole)


def test_what_cannot_be_made_is_discarded_with_the_reason_and_leaves_no_file(whole: Path) -> None:
    [product] = [p for p in Workshop(whole, RELEASE).produce(ORIGINS, 1) if not p.digest]
    assert product.reason == "H3 needs a family of mode create, and leave is not one"
    assert not place(whole, product.origin).exists()


def test_what_is_there_is_not_made_again(copy: Path, made: list[Origin]) -> None:
    before = files(copy)
    products = produced(copy)
    assert made == []
    assert files(copy) == before
    assert [bool(product.digest) for product in products] == [origin in SOUND for origin in ORIGINS]


def test_another_release_makes_all_again(copy: Path, made: list[Origin]) -> None:
    produced(copy, release="1.2.4")
    assert made == ORIGINS


# --- interruptions and damage ------------------------------------------------------------------------------


def test_closed_early_it_goes_on_from_there(whole: Path, tmp_path: Path, made: list[Origin]) -> None:
    producing = Workshop(tmp_path, RELEASE).produce(ORIGINS, 1)
    next(producing)
    producing.close()
    begun = len((tmp_path / LEDGER).read_bytes().splitlines())
    assert begun == 1
    made.clear()
    produced(tmp_path)
    assert made == ORIGINS[1:]
    assert environments(tmp_path) == environments(whole)


SCRIPT = """
import sys
from pathlib import Path
import msgspec
from coworkenv.engine.synthesis import Workshop
from coworkenv.worlds.synth.origin import Origin
if __name__ == "__main__":
    origins = msgspec.json.decode(sys.argv[2], type=list[Origin])
    for product in Workshop(Path(sys.argv[1]), "1.2.3").produce(origins, 1):
        print(product.digest, flush=True)
"""


def test_killed_it_goes_on_from_there(whole: Path, tmp_path: Path, made: list[Origin]) -> None:
    words = [sys.executable, "-c", SCRIPT, str(tmp_path), msgspec.json.encode(ORIGINS).decode()]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()
    kept = len((tmp_path / LEDGER).read_bytes().splitlines())
    produced(tmp_path)
    assert kept >= 1
    assert len(made) <= len(ORIGINS) - kept + 1
    assert ORIGINS[0] not in made
    assert environments(tmp_path) == environments(whole)


def test_a_cut_line_of_the_ledger_costs_that_line_and_not_the_next(copy: Path, made: list[Origin]) -> None:
    ledger = copy / LEDGER
    ledger.write_bytes(ledger.read_bytes()[:-40])
    produced(copy)
    assert made == ORIGINS[-1:]
    made.clear()
    produced(copy)
    assert made == []


@pytest.mark.parametrize("junk", [b"\n", b"{}", b"null", b"\xff\xfe", b'{"release": 3}', b"[" * 5000])
def test_junk_in_the_ledger_is_passed_over(copy: Path, made: list[Origin], junk: bytes) -> None:
    first, *rest = (copy / LEDGER).read_bytes().splitlines()
    unknown = first.replace(b'"refunds"', b'"nothing"')
    (copy / LEDGER).write_bytes(b"\n".join([junk, unknown, *rest]))
    produced(copy)
    assert made == ORIGINS[:1]


@pytest.mark.parametrize("key", ["content", "digest"])
def test_a_line_that_speaks_of_an_environment_and_not_of_its_file_says_nothing(
    copy: Path, made: list[Origin], key: str
) -> None:
    first, *rest = (copy / LEDGER).read_bytes().splitlines()
    line = msgspec.json.decode(first)
    (line if key == "content" else line["product"])[key] = ""
    (copy / LEDGER).write_bytes(b"\n".join([msgspec.json.encode(line), *rest]))
    produced(copy)
    assert made == ORIGINS[:1]


@pytest.mark.parametrize("which", ["environment", "receipt"])
@pytest.mark.parametrize("how", ["changed", "deleted"])
def test_a_file_that_is_not_what_it_was_is_made_again(
    whole: Path, copy: Path, made: list[Origin], which: str, how: str
) -> None:
    path = place(copy, ORIGINS[0])
    path = path if which == "environment" else receipts.path_of(path)
    path.unlink() if how == "deleted" else path.write_bytes(path.read_bytes() + b" \n")
    produced(copy)
    assert made == ORIGINS[:1]
    assert environments(copy) == environments(whole)


# --- figures -----------------------------------------------------------------------------------------------


def test_figures_say_what_a_set_comes_to(whole: Path) -> None:
    found = figures(produced(whole))
    assert (found.asked, found.made, found.sound_at_once, found.repaired, found.made_anew) == (5, 4, 4, 0, 0)
    assert found.discarded == {"H3 needs a family of mode create, and leave is not one": 1}
    assert found.families == {"files": "1/1", "grants": "1/1", "leave": "1/2", "refunds": "1/1"}
    assert found.keys == 4
    assert found.pairs == "1/15"
    assert found.near_duplicates == 0
    assert found.evenness == "1.000"


def test_figures_count_repairs_new_facts_and_who_discarded() -> None:
    def product(**more: object) -> Product:
        values: dict[str, object] = {"origin": ORIGINS[0], "digest": "d", "key": "k", "request": "r"}
        return msgspec.convert({**msgspec.to_builtins(Product(origin=ORIGINS[0])), **values, **more}, Product)

    found = figures(
        [
            product(),
            product(digest="e", failed=(17,), repairs=2),
            product(digest="f", failed=(4,), origin=msgspec.structs.replace(ORIGINS[0], attempt=1)),
            product(digest="", failed=(4,), discarded=(12, 17), reason="something"),
        ]
    )
    assert (found.made, found.sound_at_once, found.repaired, found.made_anew) == (3, 1, 1, 1)
    assert found.discarded == {"validator 12": 1}
    assert found.near_duplicates == 3


# --- other processes ---------------------------------------------------------------------------------------


def test_episodes_are_the_same_in_processes_with_other_hash_seeds(whole: Path) -> None:
    assert determinism([place(whole, origin) for origin in SOUND[:3]]) == []


def test_an_episode_that_differs_between_processes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"0": ["a", "b"], "1": ["a", "b"], "4711": ["a", "c"]}
    monkeypatch.setattr(synthesis, "_probed", lambda paths, seed: said[seed])
    assert determinism([Path("one.yaml"), Path("two.yaml")]) == ["two.yaml: its episodes differ between processes."]


# --- splits ------------------------------------------------------------------------------------------------


def only_made(origins: Sequence[Origin]) -> list[Product]:
    """Products without the work of validating them."""
    products = []
    for origin in origins:
        try:
            environment = make(origin)
        except (Impossible, Unsolvable) as error:
            products.append(Product(origin=origin, reason=str(error)))
            continue
        products.append(Product(origin=origin, digest=digest(environment), key=structural_key(environment)))
    return products


def test_rings_have_what_they_should() -> None:
    """Over D1 too, which shows itself in several ways, so that not every new instance has a workflow of train."""
    choice = wanted(("A1", "A2", "B1", "C1", "D1", "E1", "G2", "H1"), languages=("en",))
    made = split_set(50, 10, 0, choice, {}, only_made)
    assert list(made) == list(RINGS)
    assert {ring: len(products) for ring, products in made.items()} == {"train": 50} | dict.fromkeys(RINGS[1:], 10)
    manifests = []
    for ring in RINGS:
        products = [product for product in made[ring] if product.digest]
        assert len(products) == len(made[ring])
        members = [
            member(f"{identity(product.origin)}.yaml", make(product.origin), product.origin) for product in products
        ]
        manifests.append(manifest(ring, ring, members))
    assert check_splits(manifests) == []


def test_splits_of_too_little_are_refused() -> None:
    for choice in (wanted(("A1", "B1")), wanted(of=("refunds",)), wanted(styles=("plain",))):
        with pytest.raises(CannotCover):
            split_set(10, 2, 0, choice, {}, only_made)


def test_a_whole_set_has_the_knobs_that_were_asked_for() -> None:
    products = whole_set(6, 4, wanted(depth=(1, 1)), {"rows": 2}, only_made)
    assert [product.origin.knobs for product in products] == [{"rows": 2}] * 6
    assert {product.origin.seed for product in products} == {4}
    assert products == whole_set(6, 4, wanted(depth=(1, 1)), {"rows": 2}, only_made)
    assert not {product.digest for product in whole_set(6, 5, wanted(depth=(1, 1)), {"rows": 2}, only_made)} & {
        product.digest for product in products
    }
