"""Models out of folders: the same bits as were put in, and a sentence for every folder that holds none."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    LlamaForSequenceClassification,
)

from coworkenv.learn.models import ABOUT, ModelError, load, pin, save, shape, shape_of, weights_digest
from tests.learn import tiny

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    save(tiny.llama(), tiny.tokenizer(), folder, {"note": "made from nothing"})
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(saved, tmp_path / "tiny"))


def test_what_is_loaded_is_what_was_saved(saved: Path) -> None:
    loaded = load(saved)
    assert loaded.digest == weights_digest(tiny.llama())
    assert (loaded.name, loaded.length, loaded.about) == ("tiny", 512, {"note": "made from nothing"})
    assert loaded.model.config._attn_implementation == "sdpa"
    assert not loaded.model.training
    assert loaded.rendering.read(loaded.rendering.answer("hello", ())) == ("hello", [])


def test_a_model_that_caps_its_scores_attends_eagerly(tmp_path: Path) -> None:
    """Fused attention would leave the cap out, and say nothing."""
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "head_dim": 16}
    config = Gemma2Config(
        **sizes, vocab_size=len(tiny.tokenizer()), num_attention_heads=2, num_key_value_heads=2, bos_token_id=None
    )
    save(Gemma2ForCausalLM(config), tiny.tokenizer(), tmp_path / "capped")
    assert load(tmp_path / "capped").model.config._attn_implementation == "eager"


def test_the_digest_is_of_names_types_shapes_and_bytes_and_of_nothing_else() -> None:
    model = tiny.llama()
    digest = weights_digest(model)
    assert weights_digest(tiny.llama()) == digest
    assert weights_digest(tiny.llama(seed=1)) != digest
    assert weights_digest(tiny.llama().to(torch.bfloat16)) != digest
    with torch.no_grad():
        weight = model.model.norm.weight
        weight[0] = torch.nextafter(weight[0], torch.tensor(2.0))
    assert weights_digest(model) != digest


def test_tied_weights_are_told_from_untied_ones_of_the_same_value() -> None:
    tied, untied = tiny.llama(), tiny.llama(tie_word_embeddings=False)
    untied.load_state_dict(tied.state_dict())
    assert weights_digest(tied) != weights_digest(untied)


def test_weights_of_half_the_size_are_rounded_ones(saved: Path) -> None:
    loaded = load(saved, dtype="bfloat16")
    assert loaded.model.dtype == torch.bfloat16
    assert loaded.digest == weights_digest(tiny.llama().to(torch.bfloat16))


def test_saving_again_replaces_all_of_it(folder: Path) -> None:
    save(tiny.llama(seed=1), tiny.tokenizer(), folder)
    assert load(folder).digest == weights_digest(tiny.llama(seed=1))
    assert not (folder / ABOUT).exists()
    assert os.listdir(folder.parent) == ["tiny"]


def test_saving_twice_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    save(tiny.llama(), tiny.tokenizer(), tmp_path / "again", {"note": "made from nothing"})
    for path in saved.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_a_shape_needs_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert shape(folder) == shape_of(tiny.llama())


def test_pinning_gives_the_same_draws() -> None:
    try:
        pin(1, 7)
        first = torch.rand(5)
        pin(1, 7)
        assert torch.equal(torch.rand(5), first)
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


# --- folders that hold no model ----------------------------------------------------------------------------


def refused(folder: Path | str, *words: str) -> None:
    with pytest.raises(ModelError) as told:
        load(folder)
    for word in words:
        assert word in str(told.value), str(told.value)
    assert "\n" not in str(told.value)


def changed(folder: Path, **changes: Any) -> Path:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **changes}))
    return folder


def test_no_folder_is_never_a_download() -> None:
    refused("no-such/model", "there is no folder no-such/model", "never downloaded")


def test_a_file_is_no_folder(folder: Path) -> None:
    refused(folder / "config.json", "is a file")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("config.json", "no config.json"),
        ("model.safetensors", "no weights"),
    ],
)
def test_a_file_that_is_missing_is_named(folder: Path, name: str, words: str) -> None:
    (folder / name).unlink()
    refused(folder, words)


def test_a_tokenizer_that_is_missing_is_named(folder: Path) -> None:
    for path in folder.glob("*token*"):
        path.unlink()
    refused(folder, "no tokenizer")


def test_a_tokenizer_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    save(tiny.llama(), tiny.tokenizer(None), tmp_path / "plain")
    refused(tmp_path / "plain", "no chat template")


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    save(tiny.llama(vocab_size=100), tiny.tokenizer(), tmp_path / "pair")
    refused(tmp_path / "pair", "258 tokens", "only 100")


def test_a_broken_tokenizer_is_told(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")
    refused(folder, "tokenizer that cannot be used")


@pytest.mark.parametrize("content", ["{", "[]", "null", '{"model_type": "nothing-known"}', "{}"])
def test_a_broken_configuration_is_told(folder: Path, content: str) -> None:
    (folder / "config.json").write_text(content)
    refused(folder)


def test_a_reason_of_several_lines_is_told_beyond_its_heading(folder: Path) -> None:
    refused(changed(folder, num_attention_heads="x"), "num_attention_heads", "x")
    with pytest.raises(ModelError) as told:
        load(folder)
    assert not str(told.value).endswith(":")


@pytest.mark.parametrize("keep", [0, 100, -4])
def test_weights_that_are_cut_off_are_told(folder: Path, keep: int) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    refused(folder, "weights that cannot be used")


def test_weights_of_another_shape_are_told(folder: Path) -> None:
    refused(changed(folder, hidden_size=64), str(folder), "weights")


def test_weights_that_are_missing_are_told(folder: Path) -> None:
    refused(changed(folder, num_hidden_layers=3), "not whole")


def test_weights_of_layers_that_are_not_told_of_are_not_dropped(folder: Path) -> None:
    refused(changed(folder, num_hidden_layers=1), "weights of more layers than its configuration says")
    for none in (0, -1):
        refused(changed(folder, num_hidden_layers=none), "has no layers")


def test_weights_that_are_not_numbers_are_told(tmp_path: Path) -> None:
    model = tiny.llama()
    with torch.no_grad():
        model.model.norm.weight[3] = torch.nan
    save(model, tiny.tokenizer(), tmp_path / "nan")
    refused(tmp_path / "nan", "model.norm.weight", "not finite")


def test_pickled_weights_are_never_opened(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refused(folder, "pytorch_model.bin", "can run code", "safetensors")


def test_code_beside_a_model_is_never_run(folder: Path) -> None:
    (folder / "evil.py").write_text("raise SystemExit('run')")
    refused(changed(folder, model_type="evil", auto_map={"AutoConfig": "evil.Evil"}))


@pytest.mark.parametrize(
    "model",
    [
        lambda: LlamaForSequenceClassification(tiny.config(pad_token_id=0)),
        lambda: BertForMaskedLM(
            BertConfig(vocab_size=300, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
        ),
    ],
)
def test_what_cannot_write_is_refused(tmp_path: Path, model: Any) -> None:
    save(model(), tiny.tokenizer(), tmp_path / "other")
    refused(tmp_path / "other", "not a causal language model")


def test_an_adapter_is_no_model(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}")
    refused(folder, "adapter")


def test_quantised_weights_are_refused(folder: Path) -> None:
    refused(changed(folder, quantization_config={"quant_method": "fp8"}), "quantised")


# --- models that see -----------------------------------------------------------------------------------------


def test_of_a_model_that_sees_only_what_reads_and_writes_is_trained(tmp_path: Path) -> None:
    save(tiny.qwen3_vl(), tiny.tokenizer(), tmp_path / "seeing")
    loaded = load(tmp_path / "seeing")
    frozen = {name for name, weight in loaded.model.named_parameters() if not weight.requires_grad}
    assert frozen == {name for name, _ in loaded.model.named_parameters() if name.startswith("model.visual.")} != set()
    assert loaded.digest == weights_digest(tiny.qwen3_vl())
    output = loaded.model(input_ids=torch.tensor([[3, 4, 5]]))
    output.logits.sum().backward()
    reached = {name for name, weight in loaded.model.named_parameters() if weight.grad is not None}
    assert reached == {name for name, weight in loaded.model.named_parameters() if weight.requires_grad}
