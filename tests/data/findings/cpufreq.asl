DefinitionBlock ("cpufreq.aml", "SSDT", 2, "PRFCSE", "CPUFREQ", 1)
{
    External (\_SB.CPUS.C000, DeviceObj)
    External (\_SB.CPUS.C001, DeviceObj)
    Scope (\_SB.CPUS.C000)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0xB3) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0xB3) } })
        Name (_PSS, Package () {
            Package () { 2600, 100000, 10, 10, 0, 0 },
            Package () { 2000, 80000, 10, 10, 1, 1 },
            Package () { 1200, 50000, 10, 10, 2, 2 } })
        Name (_PPC, 0)
    }
    Scope (\_SB.CPUS.C001)
    {
        Name (_PCT, Package () {
            ResourceTemplate () { Register (SystemIO, 8, 0, 0xB3) },
            ResourceTemplate () { Register (SystemIO, 8, 0, 0xB3) } })
        Name (_PSS, Package () {
            Package () { 2600, 100000, 10, 10, 0, 0 },
            Package () { 2000, 80000, 10, 10, 1, 1 },
            Package () { 1200, 50000, 10, 10, 2, 2 } })
        Name (_PPC, 0)
    }
}
