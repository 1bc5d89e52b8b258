use super::*;

fn lines(fill: impl FnOnce(&mut Sockets)) -> Vec<String> {
    let mut sockets = Sockets::default();
    fill(&mut sockets);
    sockets.into_text().lines().map(str::to_string).collect()
}

#[test]
fn connections_of_ss() {
    let text = "Netid State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n\
        tcp   LISTEN 2 128 *:2024 *:* users:((\"a b\",pid=7,fd=3),(\"a b\",pid=8,fd=4)) uid:33 ino:623 sk:4 <-> bbr cwnd:10\n\
        tcp   ESTAB  5 6 192.0.2.2:39678 203.0.113.80:443 timer:(keepalive,1min59sec,1) ino:9 sk:d5 cgroup:/ <->\n\
        \t skmem:(r1,rb2,t3,tb4,f0,w0,o0,bl0,d5) ts sack cubic rto:208 rtt:7.276/12.068 retrans:0/3 busy:152ms \
        pacing_rate 8Mbps delivery_rate 45987200bps minrtt:0.055\n";
    let found = lines(|sockets| sockets.ss(text));
    let listens = "family=inet6 protocol=tcp state=LISTEN local_address=:: local_port=2024 peer_address=:: peer_port=0 inode=623 \
                   recv_queue_bytes=2 send_queue_bytes=128 user_id=33 congestion_control=bbr congestion_window_count=10";
    assert_eq!(found[..2], [format!("{listens} pid=7 fd=3"), format!("{listens} pid=8 fd=4")]);
    let words = "family=inet protocol=tcp state=ESTAB local_address=192.0.2.2 local_port=39678 peer_address=203.0.113.80 \
                 peer_port=443 inode=9 recv_queue_bytes=5 send_queue_bytes=6 timer=keepalive timer_ns=119000000000 \
                 retransmit_now_count=1 recv_memory_bytes=1 recv_buffer_bytes=2 send_memory_bytes=3 send_buffer_bytes=4 \
                 drop_count=5 congestion_control=cubic rto_ns=208000000 rtt_ns=7276000 rttvar_ns=12068000 \
                 retransmit_now_count=0 retransmit_count=3 busy_ns=152000000 pacing_rate_bytes_per_s=1000000 \
                 delivery_rate_bytes_per_s=5748400 min_rtt_ns=55000 sent_bytes=0 retransmitted_bytes=0 acknowledged_bytes=0 \
                 received_bytes=0 segment_sent_count=0 segment_received_count=0 unacknowledged_count=0 lost_count=0 \
                 unsent_bytes=0";
    assert_eq!(found[2..], [words]);
}

#[test]
fn unix_sockets_of_ss_and_what_is_none() {
    let text = "u_str ESTAB 0 0 /run/a b\\c 41 * 42 users:((\"x\",pid=1,fd=9)) <->\nu_dgr UNCONN 1 2 * 50 * 0\n\
        nl UNCONN 0 0 0:1 *\nu_str ESTAB 0 0 *\ntcp ESTAB 0 0 nonsense\ntcp ESTAB\nudp UNCONN 0 0 127.0.0.53%lo:53 0.0.0.0:*\n";
    assert_eq!(
        lines(|sockets| sockets.ss(text)),
        [
            "family=unix protocol=stream state=ESTAB local_address=/run/a\\040b\\134c inode=41 recv_queue_bytes=0 \
             send_queue_bytes=0 peer_inode=42 pid=1 fd=9",
            "family=unix protocol=dgram state=UNCONN inode=50 recv_queue_bytes=1 send_queue_bytes=2 peer_inode=0",
            "family=inet protocol=udp state=UNCONN local_address=127.0.0.53 local_port=53 peer_address=0.0.0.0 peer_port=0 \
             recv_queue_bytes=0 send_queue_bytes=0",
        ]
    );
}

#[test]
fn files_of_proc() {
    let tcp = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   \
        0: 0100007F:07E8 00000000:0000 0A 00000000:00000002 00:00000000 00000000     0        0 623 1 0 100 0 0 10 0\n   \
        1: 0100007F:07E8 0200007F:9C40 01 00000010:00000020 02:00000064 00000003  1000        0 700 1 0 20 4 30 10 -1\n   \
        2: 0100007F:07E8\n";
    let tcp6 = "   0: B80D0120000000000000000001000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000 \
        00:00000000 00000000     0        0 800 1 0\n";
    let udp = "   9: 00000000:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 900 2 0 17\n";
    let unix = "Num       RefCount Protocol Flags    Type St Inode Path\n\
        0: 00000002 00000000 00010000 0001 01 950 /run/with space\n0: 00000003 00000000 00000000 0005 03 951\n";
    let found = lines(|sockets| {
        sockets.ss("LISTEN 2 9 127.0.0.1:2024 0.0.0.0:* ino:623\n");
        sockets.inet("tcp", tcp);
        sockets.inet("tcp", tcp6);
        sockets.inet("udp", udp);
        sockets.unix(unix);
    });
    let address = "local_address=127.0.0.1 local_port=2024";
    assert_eq!(
        found,
        [
            // The socket from ss, and not a second time from /proc.
            format!("family=inet protocol=tcp state=LISTEN {address} peer_address=0.0.0.0 peer_port=0 inode=623 \
                     recv_queue_bytes=2 send_queue_bytes=9"),
            format!("family=inet protocol=tcp state=ESTAB {address} peer_address=127.0.0.2 peer_port=40000 inode=700 \
                     recv_queue_bytes=32 send_queue_bytes=16 timer=keepalive timer_ns=1000000000 retransmit_now_count=3 \
                     user_id=1000"),
            "family=inet6 protocol=tcp state=LISTEN local_address=2001:db8::1 local_port=80 peer_address=:: peer_port=0 \
             inode=800 recv_queue_bytes=0 retransmit_now_count=0 user_id=0"
                .to_string(),
            "family=inet protocol=udp state=UNCONN local_address=0.0.0.0 local_port=68 peer_address=0.0.0.0 peer_port=0 \
             inode=900 recv_queue_bytes=0 send_queue_bytes=0 drop_count=17 user_id=0"
                .to_string(),
            "family=unix protocol=stream state=LISTEN local_address=/run/with\\040space inode=950".to_string(),
            "family=unix protocol=seqpacket state=ESTAB inode=951".to_string(),
        ]
    );
}

#[test]
fn a_socket_without_an_inode_is_known_by_its_addresses() {
    let twice = "LISTEN 0 1 0.0.0.0:80 0.0.0.0:* ino:1\nLISTEN 0 1 0.0.0.0:80 0.0.0.0:* ino:2\nLISTEN 0 1 0.0.0.0:81 0.0.0.0:*\n";
    let tcp = "0: 00000000:0051 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 5 1 0\n";
    let found = lines(|sockets| {
        sockets.ss(twice);
        sockets.inet("tcp", tcp);
    });
    assert_eq!(found.len(), 3);
}

#[test]
fn times_of_timers() {
    for (text, ms) in [("204ms", 204), ("1.204ms", 1204), ("44sec", 44_000), ("1min59sec", 119_000), ("12min", 720_000)]
    {
        assert_eq!(milliseconds(text), Some(ms));
    }
    for bad in ["x", "99999999999999999999sec", "18446744073709551615min", "1.x"] {
        assert_eq!(milliseconds(bad), None);
    }
}
