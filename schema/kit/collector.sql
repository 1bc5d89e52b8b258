-- collector: whether a thread's name is one that a runtime gives its garbage collector: HotSpot, .NET
-- takes: comm
$comm SIMILAR TO '(GC Thread|G1 (Conc|Main|Refine|Service|Parallel)|ParGC|Par GC|Gang worker|Concurrent Mark|ZWorker|ZDriver|XWorker|XDriver|Shenandoah|[.]NET (Server GC|BGC)).*'
