"""What the tasks of three foreign benchmarks pay those who do no work: one page of counts.

    python -m benchmarks.audit --claw-eval PATH --clawmark PATH --tau2 PATH [--write]

Each task is played by scripted agents that solve nothing, and graded by the benchmark's own code; a judge, where it
asks one, is a stub that grants nothing. Nothing of a checkout is shown but counts. With `--write` the page is
`docs/audit-benchmarks.md`, else it is printed.
"""
