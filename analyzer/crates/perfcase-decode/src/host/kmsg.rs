//! Records of /dev/kmsg: `priority,sequence,microseconds,flags[,…];text`, then lines ` KEY=value`
//! (Documentation/ABI/testing/dev-kmsg of the kernel).

/// A message of the kernel's log.
#[derive(Debug, Eq, PartialEq)]
pub struct Message {
    priority: u32,
    /// Its number since boot.
    pub sequence: u64,
    /// Its time since boot, in ns.
    pub uptime_ns: Option<i64>,
    /// Its text.
    pub text: String,
    /// The value of its tag `DEVICE=`.
    pub device: Option<String>,
}

const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"];
const FACILITIES: [&str; 12] =
    ["kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp"];

impl Message {
    /// Gives its severity, as dmesg names it.
    pub fn level(&self) -> &'static str {
        LEVELS[(self.priority & 7) as usize]
    }

    /// Gives the facility that wrote it, as dmesg names it.
    pub fn facility(&self) -> String {
        let number = (self.priority >> 3) as usize;
        match (FACILITIES.get(number), number) {
            (Some(name), _) => (*name).to_string(),
            (None, 16..=23) => format!("local{}", number - 16),
            (None, _) => number.to_string(),
        }
    }
}

/// Reads all records. Other lines are left out.
pub fn parse(text: &str) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for line in text.lines() {
        if let Some(tag) = line.strip_prefix(' ') {
            if let (Some(device), Some(last)) = (tag.strip_prefix("DEVICE="), messages.last_mut()) {
                last.device = Some(device.to_string());
            }
            continue;
        }
        messages.extend(record(line));
    }
    messages
}

fn record(line: &str) -> Option<Message> {
    let (head, text) = line.split_once(';')?;
    let mut numbers = head.split(',');
    let priority = numbers.next()?.parse().ok()?;
    let sequence = numbers.next()?.parse().ok()?;
    let micros: Option<i64> = numbers.next()?.parse().ok();
    let uptime_ns = micros.and_then(|micros| micros.checked_mul(1000));
    Some(Message { priority, sequence, uptime_ns, text: unhex(text), device: None })
}

/// Replaces `\x0a` and the like by their bytes.
fn unhex(text: &str) -> String {
    if !text.contains("\\x") {
        return text.to_string();
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        let code = rest.strip_prefix(b"\\x").and_then(|rest| std::str::from_utf8(rest.get(..2)?).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_and_their_tags() {
        let text = "6,339,5140900,-;NET: Registered\n3,340,5690716,-,caller=T1;udevd\\x0a\\x5c; x\n SUBSYSTEM=acpi\n \
                    DEVICE=+acpi:PNP0A03:00\n30,341,x,-;who\n140,342,1,-;local\ngarbage\n1;\n999999999999,1,1,-;x\n";
        let messages = parse(text);
        let seen: Vec<_> = messages
            .iter()
            .map(|m| (m.sequence, m.level(), m.facility(), m.uptime_ns, m.text.as_str(), m.device.as_deref()))
            .collect();
        assert_eq!(
            seen,
            [
                (339, "info", "kern".to_string(), Some(5_140_900_000), "NET: Registered", None),
                (340, "err", "kern".to_string(), Some(5_690_716_000), "udevd\n\\; x", Some("+acpi:PNP0A03:00")),
                (341, "info", "daemon".to_string(), None, "who", None),
                (342, "warn", "local1".to_string(), Some(1000), "local", None),
            ]
        );
    }
}
