//! Names of system calls, by the recorded architecture: never by that of the machine that analyzes.

/// Call names of one architecture.
pub struct Names {
    /// Indexed by number; empty where there is no call.
    names: Vec<&'static str>,
}

impl Names {
    fn parse(text: &'static str) -> Names {
        let mut names = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((number, name)) = line.split_once(' ')
                && let Ok(number) = number.parse::<usize>()
            {
                if names.len() <= number {
                    names.resize(number + 1, "");
                }
                names[number] = name;
            }
        }
        Names { names }
    }

    /// The name of a call, if the architecture has it.
    pub fn get(&self, number: i64) -> Option<&'static str> {
        let name = *self.names.get(usize::try_from(number).ok()?)?;
        (!name.is_empty()).then_some(name)
    }
}

/// The names for an architecture as uname -m prints it. Empty for one that is not known: calls then go by number.
pub fn table(machine: Option<&str>) -> Names {
    match machine {
        Some("x86_64" | "amd64") => Names::parse(include_str!("../../../../schema/syscalls/x86_64.txt")),
        Some("aarch64" | "arm64" | "riscv64" | "loongarch64") => {
            Names::parse(include_str!("../../../../schema/syscalls/aarch64.txt"))
        }
        Some("s390x") => Names::parse(include_str!("../../../../schema/syscalls/s390x.txt")),
        Some("i386" | "i486" | "i586" | "i686") => Names::parse(include_str!("../../../../schema/syscalls/i386.txt")),
        _ => Names { names: Vec::new() },
    }
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn one_number_has_another_name_on_another_architecture() {
        assert_eq!(table(Some("x86_64")).get(1), Some("write"));
        assert_eq!(table(Some("aarch64")).get(64), Some("write"));
        assert_eq!(table(Some("s390x")).get(4), Some("write"));
        assert_eq!(table(Some("x86_64")).get(-1), None);
        assert_eq!(table(None).get(1), None);
    }
}
