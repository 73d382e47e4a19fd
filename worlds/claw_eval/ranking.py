"""Which of a few hundred pages fit a query best, and a line of each that shows why.

Knows words: runs of letters and digits in lower case, and pairs of neighbouring Han characters. Does not know where
pages come from. The order is the same on every machine: decimals, and ties in the order of the pages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from itertools import pairwise

from .knowledge import is_han

_RUN = re.compile(r"[\u4e00-\u9fff]+|[^\W_\u4e00-\u9fff]+")
_SATURATION, _LENGTH = Decimal("1.2"), Decimal("0.75")
_SNIPPET = 200
"""Characters."""


def words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text.lower()):
        if is_han(run[0]) and len(run) > 1:
            yield from (first + second for first, second in pairwise(run))
        else:
            yield run


@lru_cache(maxsize=1024)
def _counted(text: str) -> Counter[str]:
    return Counter(words(text))


def ranked(query: str, texts: Sequence[str]) -> list[int]:
    """The places of the texts that share a word with the query, best first.

    BM25 (Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework", eq. 3.15), with the idf that is never
    negative: the sum over the query's words w of ln(1 + (N - n + 1/2) / (n + 1/2)) * f (k + 1) / (f + k (1 - b + b L)),
    where n of N texts have w, this one f times, and L is its length by the mean length.
    """
    counted = [_counted(text) for text in texts]
    asked = [(word, sum(word in each for each in counted)) for word in dict.fromkeys(words(query))]
    with localcontext(Context(prec=28)):
        mean = Decimal(max(1, sum(each.total() for each in counted))) / max(1, len(texts))
        rare = {
            word: (1 + (len(texts) - many + Decimal("0.5")) / (many + Decimal("0.5"))).ln()
            for word, many in asked
            if many
        }
        scores = [_score(each, rare, each.total() / mean) for each in counted]
    return sorted((place for place, score in enumerate(scores) if score), key=lambda place: -scores[place])


def _score(counted: Mapping[str, int], rare: Mapping[str, Decimal], length: Decimal) -> Decimal:
    damped = _SATURATION * (1 - _LENGTH + _LENGTH * length)
    found = ((counted[word], idf) for word, idf in rare.items() if word in counted)
    return sum((idf * many * (_SATURATION + 1) / (many + damped) for many, idf in found), Decimal(0))


def snippet(query: str, text: str) -> str:
    """The beginning of the line that has most of the query's words; of the first such one."""
    asked = set(words(query))
    lines = text.split("\n")
    best = max(range(len(lines)), key=lambda place: (len(asked.intersection(words(lines[place]))), -place))
    line = lines[best].strip()
    return line if len(line) <= _SNIPPET else f"{line[:_SNIPPET]}..."
