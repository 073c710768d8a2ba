//! The roles of this program's processes, and the function of each.

use crate::{Result, copies, hop, order, survive};

/// Runs the role that the arguments name.
pub fn play(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["exporter", domain] => survive::exporter(domain.parse()?),
        ["subscriber", domain, mode, size, count] => {
            hop::subscriber(domain.parse()?, mode, size.parse()?, count.parse()?)
        }
        ["floor", count] => hop::floor(count.parse()?),
        ["copier", number, mode, size, count] => {
            copies::receiver(number.parse()?, mode, size.parse()?, count.parse()?)
        }
        ["step", domain, from, to, size] => order::step(domain.parse()?, from, to, size.parse()?),
        _ => Err(format!("no such role: {arguments:?}").into()),
    }
}
