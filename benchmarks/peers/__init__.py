"""Other libraries and ours training the same game on the same cores, in turn: `make bench-peers`.

    contenders    who is measured, and with which settings
    environments  a Python of its own for each library, made when it is first needed
    drivers/      a program for each library, run by that Python; it says how far it is, and is stopped from outside
    lanes         cores of their own for rounds that are measured at once
    watch         starts a driver, listens, looks at its memory, ends it
    progress      what drivers say, and the speeds that are read from it
    table         rows to the table of docs/performance.md

Not here: what each learns; scores of another protocol do not belong beside ours.
"""
