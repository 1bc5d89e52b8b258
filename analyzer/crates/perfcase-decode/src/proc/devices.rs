//! /proc/diskstats (Documentation/admin-guide/iostats.rst), /proc/net/dev and /sys/class/net/*/{speed,duplex,device/uevent}.

use super::text::{lines, named, number};

/// Bytes of a sector in all figures of the kernel.
const SECTOR_BYTES: u64 = 512;

/// A line of /proc/diskstats; the columns that an old kernel lacks are `None`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Disk<'a> {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// Name.
    pub name: &'a str,
    /// The 17 figures behind the name: counts, sectors in bytes, ms in ns.
    pub fields: [Option<u64>; 17],
}

/// Reads /proc/diskstats.
pub fn parse_diskstats(text: &[u8]) -> Vec<Disk<'_>> {
    lines(text).filter_map(disk).collect()
}

fn disk(line: &str) -> Option<Disk<'_>> {
    let mut words = line.split_ascii_whitespace();
    let (major, minor, name) = (number(&mut words)?, number(&mut words)?, words.next()?);
    let mut fields = [None; 17];
    for field in &mut fields {
        *field = number(&mut words);
    }
    // A line that was cut, or the four figures of a partition before Linux 2.6.25.
    fields[10]?;
    let mut scale = |places: &[usize], by: u64| {
        for &place in places {
            fields[place] = fields[place].and_then(|value: u64| value.checked_mul(by));
        }
    };
    scale(&[2, 6, 13], SECTOR_BYTES);
    scale(&[3, 7, 9, 10, 14, 16], 1_000_000);
    Some(Disk { major, minor, name, fields })
}

/// A line of /proc/net/dev: eight figures received, eight sent. One that is too large for the type is `None`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Interface<'a> {
    /// Name.
    pub interface: &'a str,
    /// Received: bytes.
    pub rx_bytes: Option<i64>,
    /// Received: packets.
    pub rx_packet_count: Option<i64>,
    /// Received: packets with an error.
    pub rx_error_count: Option<i64>,
    /// Received: packets that were dropped.
    pub rx_drop_count: Option<i64>,
    /// Received: overruns of the queue.
    pub rx_fifo_error_count: Option<i64>,
    /// Received: framing errors.
    pub rx_frame_error_count: Option<i64>,
    /// Received: compressed packets.
    pub rx_compressed_count: Option<i64>,
    /// Received: multicast packets.
    pub rx_multicast_count: Option<i64>,
    /// Sent: bytes.
    pub tx_bytes: Option<i64>,
    /// Sent: packets.
    pub tx_packet_count: Option<i64>,
    /// Sent: packets with an error.
    pub tx_error_count: Option<i64>,
    /// Sent: packets that were dropped.
    pub tx_drop_count: Option<i64>,
    /// Sent: overruns of the queue.
    pub tx_fifo_error_count: Option<i64>,
    /// Sent: collisions.
    pub tx_collision_count: Option<i64>,
    /// Sent: losses of carrier.
    pub tx_carrier_error_count: Option<i64>,
    /// Sent: compressed packets.
    pub tx_compressed_count: Option<i64>,
}

/// Reads /proc/net/dev: two lines of heads, then a line for each interface.
pub fn parse_net_dev(text: &[u8]) -> Vec<Interface<'_>> {
    lines(text).skip(2).filter_map(interface).collect()
}

fn interface(line: &str) -> Option<Interface<'_>> {
    let (interface, rest) = named(line)?;
    let mut words = rest.split_ascii_whitespace();
    let mut next = || number::<u64>(&mut words).map(|value| i64::try_from(value).ok());
    Some(Interface {
        interface,
        rx_bytes: next()?,
        rx_packet_count: next()?,
        rx_error_count: next()?,
        rx_drop_count: next()?,
        rx_fifo_error_count: next()?,
        rx_frame_error_count: next()?,
        rx_compressed_count: next()?,
        rx_multicast_count: next()?,
        tx_bytes: next()?,
        tx_packet_count: next()?,
        tx_error_count: next()?,
        tx_drop_count: next()?,
        tx_fifo_error_count: next()?,
        tx_collision_count: next()?,
        tx_carrier_error_count: next()?,
        tx_compressed_count: next()?,
    })
}

/// Splits `/sys/class/net/eth0/speed`.
pub fn link_path(path: &str) -> Option<(&str, &str)> {
    let (name, file) = path.strip_prefix("/sys/class/net/")?.split_once('/')?;
    matches!(file, "speed" | "duplex" | "device/uevent").then_some((name, file))
}

/// Reads `speed` in bits/s; the file has Mbit/s, and -1 where the link is down or has no speed.
pub fn parse_speed(text: &[u8]) -> Option<i64> {
    let mbits: i64 = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    // SPEED_UNKNOWN of drivers that print it unsigned.
    (mbits > 0 && mbits < i64::from(u32::MAX)).then(|| mbits * 1_000_000)
}

/// Reads `duplex`: whether the link is full duplex; `None` where it is unknown.
pub fn parse_duplex(text: &[u8]) -> Option<bool> {
    match text.trim_ascii() {
        b"full" => Some(true),
        b"half" => Some(false),
        _ => None,
    }
}

/// Reads `device/uevent`: the driver of the link's device.
pub fn parse_driver(text: &[u8]) -> Option<&str> {
    lines(text).find_map(|line| line.strip_prefix("DRIVER=")).filter(|driver| !driver.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_of_new_and_old_kernels() {
        let text =
            b"   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11\n\
                     \x20  8       2 sda2 1 2 3 4\n   8       3 sd\n garbage\n";
        let disks = parse_diskstats(text);
        assert_eq!(
            disks.iter().map(|d| (d.major, d.minor, d.name)).collect::<Vec<_>>(),
            [(8, 0, "sda"), (8, 1, "sda1")]
        );
        let ms = |n: u64| Some(n * 1_000_000);
        let want = [
            Some(1),
            Some(2),
            Some(1536),
            ms(4),
            Some(5),
            Some(6),
            Some(3584),
            ms(8),
            Some(9),
            ms(10),
            ms(11),
            Some(12),
            Some(13),
            Some(7168),
            ms(15),
            Some(16),
            ms(17),
        ];
        assert_eq!(disks[0].fields, want);
        assert_eq!(disks[1].fields[11..], [None; 6]);
    }

    #[test]
    fn interfaces() {
        let text = b"Inter-| Receive\n face |bytes\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                     eth0:1:99 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551615\n  cut: 1 2 3\n";
        let found = parse_net_dev(text);
        assert_eq!(found.iter().map(|i| i.interface).collect::<Vec<_>>(), ["lo", "eth0:1"]);
        assert_eq!((found[0].rx_bytes, found[0].tx_bytes, found[0].tx_compressed_count), (Some(1), Some(9), Some(16)));
        assert_eq!((found[1].rx_bytes, found[1].tx_compressed_count), (Some(99), None));
    }

    #[test]
    fn links() {
        assert_eq!(link_path("/sys/class/net/eth0/speed"), Some(("eth0", "speed")));
        assert_eq!(link_path("/sys/class/net/eth0/mtu"), None);
        assert_eq!(link_path("/sys/class/net/eth0/device/uevent"), Some(("eth0", "device/uevent")));
        assert_eq!(parse_driver(b"MODALIAS=x\nDRIVER=ixgbe\n"), Some("ixgbe"));
        assert_eq!(parse_driver(b"DRIVER=\n"), None);
        assert_eq!(parse_speed(b"10000\n"), Some(10_000_000_000));
        for unknown in [&b"-1\n"[..], b"4294967295\n", b"0\n", b"x"] {
            assert_eq!(parse_speed(unknown), None);
        }
        assert_eq!(
            [parse_duplex(b"full\n"), parse_duplex(b"half\n"), parse_duplex(b"unknown\n")],
            [Some(true), Some(false), None]
        );
    }
}
