"""The operations of perfcase, one module each: a request, described once, and one function from request and case to a result.

``Request`` of a module is a frozen dataclass: its fields have the help, bounds and defaults of the options (``request``). ``run`` executes
it: ``run(request, case)`` for most, ``run(request, *cases)`` or ``run(request, stores=folders)`` for several captures. The command line
writes the result (``write``), programs read it (``relation``, ``text``). The commands, the routes of a server and Python's
``perfcase.open`` all call these modules, and define no options of their own.
"""
