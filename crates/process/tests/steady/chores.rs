//! A panic in a task that belongs to no Operator does not end the task.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use cluster::lease;
use document::json;
use engine::background::Chore;
use engine::guard::{Boundary, FailPoints};
use engine::native::ViewStore;
use expr::{Functions, Time};
use object::ObjectKey;
use object::marks::KINDS;
use process::aggregate::{Aggregation, CaBundle, Managed, Settings};
use process::config::Config;
use process::instance::Memory;
use process::serve::Server;
use process::view_server::{self, Transport};
use simulation::api::Caller;
use simulation::clock::{ClockSteps, ProcessClock, Virtual};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::crashes::Bomb;
use super::{World, copies, seconds, widget};

/// How often a task panics.
const PANICS: usize = 3;

/// A world in which this task panics when it starts, or with each part of its work.
fn world(chore: Chore) -> (World, Bomb) {
    let (mut world, bomb) = (World::new(), Bomb::default());
    bomb.arm(PANICS);
    world.config.fail_points = at(&bomb, chore);
    (world, bomb)
}

fn at(bomb: &Bomb, chore: Chore) -> FailPoints {
    let bomb = bomb.clone();
    FailPoints::new(move |operator, passed| {
        if passed == Boundary::Chore(chore) {
            assert_eq!(operator, "");
            bomb.starts.lock().unwrap().push(Instant::now());
            bomb.pass(chore.name());
        }
    })
}

/// Checks that the task went on after its panics, and that the metric counts them.
fn expect_survived(world: &World, bomb: &Bomb, chore: Chore) {
    let passes = bomb.starts().len();
    assert!(passes > PANICS, "{chore:?} has passed {passes} times");
    let metrics = world.config.metrics.encode();
    let line = format!(
        r#"deltic_task_crashes_total{{task="{}"}} {PANICS}"#,
        chore.name()
    );
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}

/// Without `_`, so that a new task needs a test.
async fn check(chore: Chore) {
    let (mut world, bomb) = world(chore);
    match chore {
        Chore::Probes => check_probes(&world).await,
        Chore::Events => check_events(&mut world).await,
        Chore::Clock => check_clock(&mut world).await,
        Chore::ViewCatalog => check_view_catalog(&mut world).await,
        Chore::ViewLeader => check_view_leader(&mut world).await,
        Chore::ViewListener => check_view_listener(&mut world).await,
        Chore::Certificate | Chore::ClientAuthorities => {
            serve(&world.config, &world, generated()).await;
            seconds(10).await;
        }
        Chore::Registration => check_registration(&mut world).await,
        Chore::Kinds | Chore::StatusLog => check_files(&mut world).await,
    }
    expect_survived(&world, &bomb, chore);
    // An Event that is lost does not delay the next one.
    if chore != Chore::Events {
        bomb.expect_growing_pauses();
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_does_not_end_a_task_of_the_process() {
    for chore in Chore::ALL {
        check(chore).await;
    }
}

async fn check_probes(world: &World) {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (health, metrics) = (world.config.health.clone(), world.config.metrics.clone());
    let server = Server::bind(address, health, metrics).await.unwrap();
    let address = server.address().unwrap();
    server.start(&world.config.background());
    seconds(10).await;
    let answer = get(address, "/healthz").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

async fn check_events(world: &mut World) {
    for number in 0..=PANICS {
        world.operator(&format!("bad-{number}"), json!({"controllers": 1}));
    }
    world.start();
    seconds(20).await;
    assert_eq!(world.events("Invalid").len(), 1);
    world.stop().await;
}

async fn check_clock(world: &mut World) {
    let (clock, steps) = (Virtual::start(), ClockSteps::default());
    world.config.clock = Arc::new(ProcessClock::new(clock, steps.clone(), 1));
    let until = Time::of_unix(clock.now().as_second() + 600).unwrap();
    world.put(&widget("a"), "spec", json!({"until": (until.to_string())}));
    world.operator("o", super::time::temporary());
    world.start();
    seconds(30).await;
    assert_eq!(world.config_maps(), ["a"]);
    steps.step(600);
    seconds(15).await;
    assert!(world.config_maps().is_empty());
    world.stop().await;
}

/// Where a certificate is generated.
fn generated() -> Transport {
    Transport::Generated {
        namespace: "ns".to_owned(),
        names: Vec::new(),
    }
}

/// Serves the views of a process. Returns the address.
async fn serve(config: &Config, world: &World, transport: Transport) -> SocketAddr {
    let client = world.server.client(&Caller::new("views"));
    let settings = view_server::Settings {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        transport,
        front_proxy: false,
    };
    let (views, leadership) = (&config.views, &config.leadership);
    let background = config.background();
    let served = view_server::start(&client, views, leadership, &background, &settings).await;
    served.unwrap().address
}

async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// The spec of an Operator with the view `Number`.
fn with_view() -> document::Value {
    json!({"controllers": [{
        "name": "view",
        "sources": [{"apiGroup": "example.com", "kind": "Widget"}],
        "pipeline": [{"@project": {"metadata": {"name": "$.metadata.name", "namespace": "ns"}}}],
        "target": {"kind": "Number"},
    }]})
}

async fn check_view_catalog(world: &mut World) {
    world.operator("o", with_view());
    world.config.views = world.start_with_views();
    let address = serve(&world.config, world, Transport::Insecure).await;
    seconds(10).await;
    let answer = get(address, "/apis/o.view.dcontroller.io/v1alpha1").await;
    assert!(answer.contains(r#""kind":"Number""#), "{answer}");
    world.stop().await;
}

async fn check_view_leader(world: &mut World) {
    // Nobody runs the elector, so this process never leads.
    let settings = lease::Settings::new("ns", lease::NAME, "one");
    let client = world.server.client(&Caller::new("one"));
    let (leadership, _elector) = lease::elect(&client, settings, world.config.metrics.clone());
    world.config.leadership = leadership;
    world.operator("o", with_view());
    world.config.views = world.start_with_views();
    let address = serve(&world.config, world, Transport::Insecure).await;
    seconds(10).await;
    let answer = get(address, "/apis/o.view.dcontroller.io/v1alpha1/numbers").await;
    assert!(answer.contains("this replica stands by"), "{answer}");
    world.stop().await;
}

async fn check_view_listener(world: &mut World) {
    let address = serve(&world.config, world, Transport::Insecure).await;
    seconds(10).await;
    let answer = get(address, "/apis").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

/// Registers the views of a process in the cluster's API.
fn register(world: &World, views: &ViewStore) -> Aggregation {
    let settings = Settings {
        service: "ns/deltic-views".parse().unwrap(),
        authority: CaBundle::Text("authority".to_owned()),
        endpoint: None,
        operators: Managed::Cluster(None),
        replicated: false,
    };
    Aggregation::start(
        &world.server.client(&Caller::new("registrar")),
        views.views().served(),
        world.config.leadership.clone(),
        world.config.background(),
        settings,
    )
}

async fn check_registration(world: &mut World) {
    world.operator("o", with_view());
    let views = world.start_with_views();
    let aggregation = register(world, &views);
    seconds(20).await;
    let registered = || world.names("apiregistration.k8s.io", "APIService");
    assert_eq!(registered(), ["v1alpha1.o.view.dcontroller.io"]);
    aggregation.end().await;
    assert!(registered().is_empty());
    world.stop().await;
}

/// Operators of files, with a memory in which an earlier process has recorded a kind.
async fn with_files(world: &mut World) -> ObjectKey {
    let memory = Memory::new(world.server.client(&Caller::new("memory")), "ns", "memory");
    memory.open().await.unwrap();
    let lease = ObjectKey::new("coordination.k8s.io", "Lease", "ns", "memory");
    let before = json!({KINDS: r#"{"o":[{"group":"","kind":"Secret"}]}"#});
    world.server.change(&lease, "deltic", |old| {
        simulation::fields::set(old, &["metadata", "annotations"], before.clone())
    });
    let manifest = json!({
        "apiVersion": "dcontroller.io/v1alpha1", "kind": "Operator",
        "metadata": {"name": "o"}, "spec": (copies("o-")),
    });
    let (operator, problems) = operator::read(&manifest, &Functions::builtin());
    world.config.files = vec![operator.unwrap_or_else(|| panic!("{problems:?}"))];
    world.config.memory = Some(memory);
    lease
}

async fn check_files(world: &mut World) {
    let lease = with_files(world).await;
    world.widget("a", 1);
    world.start();
    seconds(60).await;
    assert_eq!(world.config_maps(), ["o-a"]);
    let lease = world.server.get(&lease).unwrap();
    let recorded = lease.get("metadata").get("annotations").get(KINDS);
    let expect = r#"{"o":[{"group":"","kind":"ConfigMap"}]}"#;
    assert_eq!(recorded.as_str(), Some(expect));
    world.stop().await;
}

/// A shutdown does not wait for the pause after a panic.
#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_tasks_that_panic() {
    for chore in [Chore::Registration, Chore::Kinds] {
        let (mut world, bomb) = world(chore);
        bomb.arm(usize::MAX);
        if chore == Chore::Kinds {
            with_files(&mut world).await;
        } else {
            world.operator("o", with_view());
        }
        let views = world.start_with_views();
        let aggregation = register(&world, &views);
        seconds(100).await;
        assert!((6..20).contains(&bomb.starts().len()));
        let start = Instant::now();
        world.stop().await;
        aggregation.end().await;
        let took = start.elapsed();
        assert!(took < Duration::from_secs(5), "{chore:?}: {took:?}");
        let passes = bomb.starts().len();
        seconds(100).await;
        assert_eq!(bomb.starts().len(), passes, "{chore:?}");
    }
}
