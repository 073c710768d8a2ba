//! Mutual TLS by Zenoh's configuration file, as the book shows it.
//!
//! The certificates are made by the command `openssl`. Without it the test prints so and passes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use situ_bus::PublisherQos;
use situ_testkit::Scratch;

use crate::common::{Machine, Setup, publish, string, take, until};

const STRING: &str = "std_msgs::msg::String";

fn openssl(folder: &Path, arguments: &str) -> bool {
    let mut command = Command::new("openssl");
    command.current_dir(folder).args(arguments.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// An authority, and a certificate for this machine by it: `<name>.pem` and `<name>.key`.
fn certify(folder: &Path, authority: &str, name: &str) -> bool {
    const NEW: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n").unwrap();
    openssl(
        folder,
        &format!(
            "req -x509 {NEW} -days 2 -keyout {authority}.key -out {authority}.pem -subj /CN={authority}"
        ),
    ) && openssl(folder, &format!("req {NEW} -keyout {name}.key -out {name}.csr -subj /CN={name}"))
        && openssl(
            folder,
            &format!(
                "x509 -req -in {name}.csr -CA {authority}.pem -CAkey {authority}.key -CAcreateserial -days 2 -out \
                 {name}.pem -extfile names"
            ),
        )
}

fn config(folder: &Path, authority: &str, name: &str) -> PathBuf {
    let path = folder.join(format!("{name}.json5"));
    let at = |file: String| folder.join(file).display().to_string();
    let (key, certificate) = (at(format!("{name}.key")), at(format!("{name}.pem")));
    let text = format!(
        "{{ mode: \"peer\", scouting: {{ multicast: {{ enabled: false }} }}, transport: {{ link: {{ tls: {{
            enable_mtls: true,
            root_ca_certificate: \"{}\",
            listen_private_key: \"{key}\",
            listen_certificate: \"{certificate}\",
            connect_private_key: \"{key}\",
            connect_certificate: \"{certificate}\",
        }} }} }} }}",
        at(format!("{authority}.pem"))
    );
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn only_machines_with_a_certificate_connect() {
    let folder = Scratch::on_disk("tls");
    let folder = folder.path();
    if !certify(folder, "authority", "robot") {
        println!("not tested: there is no command `openssl` that makes certificates");
        return;
    }
    assert!(certify(folder, "other", "stranger"));
    let robot = config(folder, "authority", "robot");
    // The stranger trusts the authority, but has a certificate of another one.
    let stranger = config(folder, "authority", "stranger");
    let listen_on = Some("tls/127.0.0.1:0".to_owned());
    let a = Machine::new(Setup { config: Some(robot.clone()), listen_on, ..Setup::default() });
    assert!(a.locators.iter().all(|it| it.starts_with("tls/")), "{:?}", a.locators);
    let with = |config| Setup {
        config: Some(config),
        listen: false,
        connect: a.locators.clone(),
        ..Setup::default()
    };
    let c = Machine::new(with(stranger));
    let b = Machine::new(with(robot));
    let (from, to) =
        (a.publisher("chatter", STRING, PublisherQos::default()), b.subscriber("chatter", STRING));
    let not_to = c.subscriber("chatter", STRING);
    until("the machine with a certificate", || b.status().bridges.len() == 1);
    a.wait_for_subscribers(&from, 1);
    publish(&from, &[], &string("secret"));
    assert_eq!(take(&to).1, string("secret"));
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!((a.status().bridges.len(), c.status().bridges.len()), (1, 0));
    assert!(not_to.take().unwrap().is_none());
}
