"""Mutation operators that nothing in synthesis was made with: how good checks are at mistakes they have not met.

Knows, for each typical failure of a capability, how a program commits it. They were written from the definitions of
the capabilities alone, when the validators and the repairs were settled, and before any of them was run. So that the
figure they give stays one of first contact, an operator is never changed, and none is used to mend an environment.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import misreading, mistelling, miswriting
from .mutants import Operator

_ALL: Mapping[str, tuple[str, Operator]] = {
    "guesses-instead-of-asking": ("A1", misreading.guesses_instead_of_asking),
    "picks-silently": ("A2", misreading.picks_silently),
    "takes-the-first-hit": ("A3", misreading.takes_the_first_hit),
    "interrogates-the-coworker": ("A4", mistelling.interrogates_the_coworker),
    "acts-then-informs": ("B1", miswriting.acts_then_informs),
    "mistakes-the-answer": ("B1", misreading.mistakes_the_answer),
    "knows-it-from-elsewhere": ("B2", misreading.knows_it_from_elsewhere),
    "is-wrong-at-the-limit": ("B2", misreading.is_wrong_at_the_limit),
    "edits-another-record": ("B3", miswriting.edits_another_record),
    "adds-a-record": ("B3", miswriting.adds_a_record),
    "goes-one-step-further": ("B3", miswriting.goes_one_step_further),
    "follows-the-older-text": ("B4", misreading.follows_the_older_text),
    "takes-the-other-branch": ("B4", misreading.takes_the_other_branch),
    "takes-it-from-another-system": ("C1", miswriting.takes_it_from_another_system),
    "stops-at-the-first-page": ("C2", misreading.stops_at_the_first_page),
    "misses-the-last-hit": ("C2", misreading.misses_the_last_hit),
    "flags-a-clean-row": ("C3", misreading.flags_a_clean_row),
    "uses-the-first-reading": ("C4", misreading.uses_the_first_reading),
    "obeys-what-it-reads": ("D1", miswriting.obeys_what_it_reads),
    "stops-work": ("D1", miswriting.stops_work),
    "pastes-a-secret": ("D2", mistelling.pastes_a_secret),
    "passes-on-what-was-private": ("D3", mistelling.passes_on_what_was_private),
    "complies-anyway": ("D4", miswriting.complies_anyway),
    "finishes-the-old-plan": ("E1", miswriting.finishes_the_old_plan),
    "does-not-wait": ("E2", mistelling.does_not_wait),
    "asks-over-and-over": ("E2", mistelling.asks_over_and_over),
    "reads-too-soon": ("E3", misreading.reads_too_soon),
    "waits-forever": ("E4", mistelling.waits_forever),
    "chases-too-soon": ("E4", mistelling.chases_too_soon),
    "converts-no-time-zone": ("F1", misreading.converts_no_time_zone),
    "counts-weekends": ("F1", misreading.counts_weekends),
    "is-an-hour-off": ("F1", miswriting.is_an_hour_off),
    "rounds-before-summing": ("F2", misreading.rounds_before_summing),
    "forgets-a-term": ("F2", misreading.forgets_a_term),
    "is-first-come-first-served": ("F3", misreading.is_first_come_first_served),
    "swaps-day-and-month": ("F4", miswriting.swaps_day_and_month),
    "omits-an-optional-argument": ("F4", miswriting.omits_an_optional_argument),
    "claims-without-doing": ("G1", miswriting.claims_without_doing),
    "reports-as-usual": ("G1", mistelling.reports_as_usual),
    "tells-the-wrong-person": ("G2", mistelling.tells_the_wrong_person),
    "asks-the-wrong-person": ("G2", mistelling.asks_the_wrong_person),
    "copies-somebody-in": ("G2", miswriting.copies_somebody_in),
    "invents-an-id": ("G3", mistelling.invents_an_id),
    "says-only-all-done": ("G4", mistelling.says_only_all_done),
    "leaves-one-out-of-the-list": ("G4", misreading.leaves_one_out_of_the_list),
    "applies-the-rule-to-all": ("H1", misreading.applies_the_rule_to_all),
    "mixes-up-two-items": ("H1", miswriting.mixes_up_two_items),
    "leaves-the-wrong-record": ("H2", miswriting.leaves_the_wrong_record),
    "tries-again-blindly": ("H3", miswriting.tries_again_blindly),
    "puts-the-cart-first": ("H4", miswriting.puts_the_cart_first),
}

HELD_OUT: Mapping[str, Operator] = {name: operator for name, (_, operator) in _ALL.items()}
"""By the name that their mutants carry."""

STANDS_FOR: Mapping[str, str] = {name: capability for name, (capability, _) in _ALL.items()}
"""The capability whose typical failure each operator commits."""
