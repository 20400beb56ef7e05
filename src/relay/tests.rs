//! Over real connections, with clocks of plain values.

use std::{
    net::Ipv4Addr,
    sync::{Condvar, Mutex},
};

use super::*;
use crate::rng::Rng;

/// A clock at which every moment has come.
#[derive(Clone, Copy)]
struct AtOnce;

impl Clock for AtOnce {
    fn now_ns(&self) -> u64 {
        0
    }
}

impl Moments for AtOnce {
    fn wait_until(&self, _: u64, _: &mut Lateness) {}
}

/// A clock that a test sets, which notes the moments that are waited for.
#[derive(Default)]
struct ByHand {
    now_ns: Mutex<u64>,
    set: Condvar,
    asked_ns: Mutex<Vec<u64>>,
    asked: Condvar,
}

impl ByHand {
    fn set(&self, now_ns: u64) {
        *self.now_ns.lock().expect("no panic") = now_ns;
        self.set.notify_all();
    }

    /// The moments that were waited for, once there are `count`.
    fn asked_ns(&self, count: usize) -> Vec<u64> {
        let asked = self.asked_ns.lock().expect("no panic");
        self.asked.wait_while(asked, |asked| asked.len() < count).expect("no panic").clone()
    }
}

impl Clock for &'static ByHand {
    fn now_ns(&self) -> u64 {
        *self.now_ns.lock().expect("no panic")
    }
}

impl Moments for &'static ByHand {
    fn wait_until(&self, moment_ns: u64, _: &mut Lateness) {
        self.asked_ns.lock().expect("no panic").push(moment_ns);
        self.asked.notify_all();
        let now = self.now_ns.lock().expect("no panic");
        drop(self.set.wait_while(now, |now| *now < moment_ns).expect("no panic"));
    }
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("bound");
    (listener, address)
}

/// Where a relay listens. It ends with the tests.
fn relay(to: SocketAddr, one_way_ns: u64, clock: impl Moments + Sync) -> SocketAddr {
    let (listener, address) = listen();
    thread::spawn(move || Relay { to, one_way_ns, clock }.serve(&listener));
    address
}

/// Both ends of a relayed connection: the client's, the server's.
fn connect(one_way_ns: u64, clock: impl Moments + Sync) -> (TcpStream, TcpStream) {
    let (server, to) = listen();
    let client = TcpStream::connect(relay(to, one_way_ns, clock)).expect("the relay is there");
    (client, server.accept().expect("it is relayed").0)
}

/// With and without a hand-over.
const WAYS_NS: [u64; 2] = [0, 1];

/// More than the kernel and the relay hold together, so that somebody has to wait.
fn random_bytes(rng: &mut Rng) -> Vec<u8> {
    (0..400_000 + rng.below(300_000)).map(|_| u8::try_from(rng.below(256)).expect("a byte")).collect()
}

/// Sends in pieces of random sizes, and says that this was all.
fn send(mut stream: &TcpStream, mut bytes: &[u8], rng: &mut Rng) {
    while !bytes.is_empty() {
        let most = [3, 700, 90_000][usize::try_from(rng.below(3)).expect("small")];
        let length = usize::try_from(1 + rng.below(most)).expect("small").min(bytes.len());
        stream.write_all(&bytes[..length]).expect("sent");
        bytes = &bytes[length..];
    }
    stream.shutdown(Shutdown::Write).expect("it is open");
}

fn receive_all(mut stream: &TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("received");
    bytes
}

#[test]
fn bytes_arrive_in_order_and_unchanged_both_ways_over_many_connections() {
    const CONNECTIONS: u64 = 12;
    for one_way_ns in WAYS_NS {
        let (server, to) = listen();
        let address = relay(to, one_way_ns, AtOnce);
        thread::scope(|scope| {
            for connection in 0..CONNECTIONS {
                let client = TcpStream::connect(address).expect("the relay is there");
                let (server, _) = server.accept().expect("it is relayed");
                let ends = [Arc::new(client), Arc::new(server)];
                for (here, there) in [(0, 1), (1, 0)] {
                    let mut rng = Rng::new(connection, here as u64);
                    let bytes = random_bytes(&mut rng);
                    let (from, to) = (Arc::clone(&ends[here]), Arc::clone(&ends[there]));
                    let sent = bytes.clone();
                    scope.spawn(move || send(&from, &sent, &mut rng));
                    scope.spawn(move || assert!(receive_all(&to) == bytes, "connection {connection}"));
                }
            }
        });
    }
}

#[test]
fn who_has_said_all_can_still_be_answered() {
    for one_way_ns in WAYS_NS {
        let (mut client, mut server) = connect(one_way_ns, AtOnce);
        client.write_all(b"a question").and_then(|()| client.shutdown(Shutdown::Write)).expect("asked");
        assert_eq!(receive_all(&server), b"a question");
        server.write_all(b"an answer").expect("answered");
        drop(server);
        assert_eq!(receive_all(&client), b"an answer");
    }
}

/// Nothing more comes, one way or another.
fn has_ended(mut stream: &TcpStream) -> bool {
    matches!(stream.read(&mut [0]), Ok(0) | Err(_))
}

#[test]
fn a_server_that_is_not_there_costs_the_client_its_connection_and_the_relay_nothing() {
    let (nobody, to) = listen();
    drop(nobody);
    let address = relay(to, 1, AtOnce);
    for _ in 0..2 {
        assert!(has_ended(&TcpStream::connect(address).expect("the relay is there")));
    }
}

#[test]
fn who_has_gone_is_gone_for_the_other_side_too() {
    for one_way_ns in WAYS_NS {
        let (client, server) = connect(one_way_ns, AtOnce);
        drop(client);
        assert!(has_ended(&server));
        let (client, server) = connect(one_way_ns, AtOnce);
        drop(server);
        assert!(has_ended(&client));
        // With bytes that nobody has read a connection is not ended, but broken: the writer learns it by an error.
        let (client, mut server) = connect(one_way_ns, AtOnce);
        server.write_all(&[1]).expect("sent");
        assert_eq!(client.peek(&mut [0]).expect("it has arrived"), 1);
        drop(client);
        assert!(has_ended(&server));
        while server.write_all(&vec![2; 1 << 16]).is_ok() {}
    }
}

#[test]
fn each_byte_is_passed_on_half_a_round_trip_after_it_came_and_not_before() {
    let clock: &'static ByHand = Box::leak(Box::default());
    let (mut client, mut server) = connect(500, clock);
    let nothing_came = |stream: &TcpStream| {
        stream.set_nonblocking(true).expect("set");
        let nothing = stream.peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        stream.set_nonblocking(false).expect("set");
        nothing
    };
    let mut came = [0];
    clock.set(1_000);
    client.write_all(b"a").expect("sent");
    assert_eq!(clock.asked_ns(1), [1_500]);
    clock.set(1_499);
    assert!(nothing_came(&server));
    clock.set(1_500);
    server.read_exact(&mut came).expect("it is due");
    clock.set(7_000);
    server.write_all(b"b").expect("sent");
    assert_eq!(clock.asked_ns(2), [1_500, 7_500], "the way back takes as long");
    assert!(nothing_came(&client));
    clock.set(7_500);
    client.read_exact(&mut came).expect("it is due");
    assert_eq!(came, *b"b");
    drop(client);
    assert_eq!(clock.asked_ns(3)[2], 8_000, "an end is as late as a byte");
    assert!(nothing_came(&server));
    clock.set(8_000);
    assert!(has_ended(&server));
}

#[test]
fn what_is_under_way_holds_back_nothing_that_follows() {
    let clock: &'static ByHand = Box::leak(Box::default());
    let relay = Relay { to: ([127, 0, 0, 1], 1).into(), one_way_ns: 500, clock };
    let (listener, address) = listen();
    let (client, server) = (TcpStream::connect(address).expect("it listens"), listener.accept());
    let (mut client, from) = (client.try_clone().expect("open"), Arc::new(server.expect("let in").0));
    let direction = Direction { to: Arc::clone(&from), from };
    let (sender, receiver) = mpsc::sync_channel(PIECES_MAX);
    thread::spawn(move || relay.read(&direction, &sender));
    // Nobody passes on the first, and yet the second is looked at when it comes.
    for now_ns in [1_000, 1_100] {
        clock.set(now_ns);
        client.write_all(&[7]).expect("sent");
        let Piece { due_ns, event, .. } = receiver.recv().expect("read");
        assert_eq!((due_ns, event), (now_ns + 500, Event::Bytes([7].into())));
    }
}

#[test]
fn waking_late_is_reckoned_with_and_bounded() {
    let mut lateness = Lateness::default();
    assert_eq!([lateness.sleep_ns(500_000), lateness.sleep_ns(0)], [Some(500_000), None]);
    assert_eq!(lateness.corrected_ns(500_000), 500_000);
    // Some are far too late.
    (0..60).for_each(|sleep| lateness.learn(if sleep % 3 == 0 { 5_000_000 } else { 8_000 }));
    let about = 490_000..493_000;
    assert!(lateness.sleep_ns(500_000).is_some_and(|sleep_ns| about.contains(&sleep_ns)), "{lateness:?}");
    assert!(about.contains(&lateness.corrected_ns(500_000)), "{lateness:?}");
    assert_eq!(lateness.sleep_ns(5_000), None, "so little is not slept");
    assert_eq!(lateness.corrected_ns(5_000), 0);
    (0..99).for_each(|_| lateness.learn(3_000_000));
    assert_eq!(lateness.corrected_ns(500_000), 500_000 - LATE_MAX_NS);
    (0..99).for_each(|_| lateness.learn(0));
    assert_eq!(lateness.corrected_ns(500_000), 500_000);
}
