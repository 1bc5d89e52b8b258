"""What perfcase can be asked, an operation a module: a request, described once, and one function from request and case to a result.

``Request`` of a module is a frozen dataclass: its fields say what may be asked, with help, bounds and defaults (``request``). ``run``
answers it: ``run(request, case)`` for most, ``run(request, *cases)`` and ``run(request, stores=folders)`` where there are several.
What it gives can be written as the command line writes it (``write``), and read by a program (``relation``, ``text``). The commands,
the routes of a server and Python's ``perfcase.open`` all ask here, and hold nothing of it themselves.
"""
