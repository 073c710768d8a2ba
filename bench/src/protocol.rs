//! The lines between driver and workers: `open size=64`, `run count=1000`, `close`; `ok`, `samples 1.5 2.5`,
//! `error words`. The C++ peers use the same lines.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::str::FromStr;

use crate::failure::Failure;

/// The `key=value` words of a command.
#[derive(Debug, Default)]
pub struct Params {
    values: BTreeMap<String, String>,
}

impl Params {
    /// Parses the words.
    pub fn parse(words: &str) -> Result<Self, Failure> {
        let mut values = BTreeMap::new();
        for word in words.split_whitespace() {
            let Some((key, value)) = word.split_once('=') else {
                return Err(Failure::Protocol { line: word.to_owned(), why: "expected key=value" });
            };
            values.insert(key.to_owned(), value.to_owned());
        }
        Ok(Self { values })
    }

    /// The value with this name. Fails without it.
    pub fn get<T: FromStr>(&self, key: &'static str) -> Result<T, Failure> {
        let value = self.values.get(key).ok_or(Failure::Protocol { line: key.to_owned(), why: "missing" })?;
        value.parse().map_err(|_| Failure::Protocol { line: format!("{key}={value}"), why: "bad value" })
    }

    /// The value with this name, or a default.
    pub fn get_or<T: FromStr>(&self, key: &'static str, default: T) -> Result<T, Failure> {
        if self.values.contains_key(key) { self.get(key) } else { Ok(default) }
    }
}

/// The duty of a worker: its endpoints are opened, used in several rounds, and closed.
pub trait Duty {
    /// Opens endpoints.
    fn open(&mut self, params: &Params) -> Result<(), Failure>;
    /// Runs one round. The result is sent to the driver.
    fn run(&mut self, params: &Params) -> Result<Vec<f64>, Failure>;
    /// Closes the endpoints.
    fn close(&mut self);
}

/// Executes the commands on standard input until its end.
pub fn serve(duty: &mut dyn Duty) -> Result<(), Failure> {
    let input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    writeln!(output, "ok").map_err(Failure::io("cannot answer"))?;
    for line in input.lines() {
        let line = line.map_err(Failure::io("cannot read a command"))?;
        let (verb, words) = line.split_once(' ').unwrap_or((&line, ""));
        let answer = Params::parse(words).and_then(|params| match verb {
            "open" => duty.open(&params).map(|()| None),
            "run" => duty.run(&params).map(Some),
            "close" => {
                duty.close();
                Ok(None)
            }
            _ => Err(Failure::Protocol { line: line.clone(), why: "unknown command" }),
        });
        let text = match answer {
            Ok(None) => "ok".to_owned(),
            Ok(Some(samples)) => {
                let mut text = String::with_capacity(8 + samples.len() * 8);
                text.push_str("samples");
                for sample in samples {
                    text.push_str(&format!(" {sample:.1}"));
                }
                text
            }
            Err(failure) => format!("error {}", failure.to_string().replace('\n', " ")),
        };
        writeln!(output, "{text}").map_err(Failure::io("cannot answer"))?;
    }
    duty.close();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Params;

    #[test]
    fn params() {
        let params = Params::parse("size=64 full=1").expect("well formed");
        assert_eq!(params.get::<usize>("size").expect("there"), 64);
        assert_eq!(params.get_or::<u8>("gap", 7).expect("default"), 7);
        assert!(params.get::<usize>("depth").is_err());
        assert!(Params::parse("size").is_err());
        assert!(Params::parse("size=x").expect("well formed").get::<usize>("size").is_err());
    }
}
