//! rkyv 0.8: the data set `world`. A change of size requires deserializing and serializing.

use std::hint::black_box;

use rkyv::access_unchecked;
use rkyv::rancor::Error;

use super::rkyv_encoder::Encoder;
use crate::data::world::{self, ArchivedKind, ArchivedSite, ArchivedWorld, World, text};
use crate::suite::{Aligned, Outcome, Suite, sizes, timed_whole};

fn places(of: &ArchivedSite) -> u64 {
    let entities = of.entities.iter().fold(0, |sum, id| sum ^ id.to_native());
    text(&of.name) + entities + of.sites.iter().map(places).sum::<u64>()
}

fn walk(of: &ArchivedWorld) -> u64 {
    let mut total = text(&of.name) + places(&of.root);
    for (id, it) in of.entities.iter() {
        total += id.to_native() + text(&it.name) + u64::from(it.health.to_native());
        total += u64::from(it.position[2].to_native().to_bits());
        total += it.title.as_ref().map_or(0, |of| text(of));
        total += it.tags.iter().map(|each| text(each)).sum::<u64>();
        total += it.owner.as_ref().map_or(1, |of| of.to_native());
        for (of, to) in it.relations.iter() {
            total += text(of) + to.iter().map(|each| each.to_native()).sum::<u64>();
        }
        total += match &it.kind {
            ArchivedKind::Monster(it) => {
                let loot = it.loot.iter().map(|each| u64::from(each.to_native()));
                u64::from(it.level.to_native()) + loot.sum::<u64>()
            }
            ArchivedKind::Thing(it) => u64::from(it.price.to_native()),
            ArchivedKind::Scenery(it) => text(it),
        };
        total += it.faction.as_ref().map_or(0, |of| u64::from(of.members.to_native()));
    }
    total += of.names.iter().map(|(name, id)| text(name) + id.to_native()).sum::<u64>();
    for (title, book) in of.lore.iter() {
        total += text(title);
        for (of, lines) in book.iter() {
            total += text(of) + lines.iter().map(|each| text(each)).sum::<u64>();
        }
    }
    total
}

fn look_up(of: &ArchivedWorld, wanted: &[String]) -> u64 {
    let health =
        |id: &rkyv::rend::u64_le| of.entities.get(id).map_or(0, |it| u64::from(it.health.to_native()));
    wanted.iter().map(|name| of.names.get(name.as_str()).map_or(0, health)).sum()
}

fn change(of: &mut World, numbers: &[u64]) {
    for number in numbers {
        let Some(it) = of.entities.get_mut(number) else { continue };
        it.health /= 2;
        it.tags.push(world::NEW_TAG.to_owned());
    }
}

/// Adds the data set.
pub fn add(suite: &mut Suite) -> Outcome<()> {
    let data = world::make();
    let bytes = Aligned::new(Encoder::new().encode(&data)?);
    let wanted = world::wanted();
    {
        let archived = rkyv::access::<ArchivedWorld, Error>(bytes.as_ref())?;
        let (walked, found) = (walk(archived), look_up(archived, &wanted));
        if (walked, found) != (world::sum(&data), world::found(&data)) {
            return Err(format!("world adds up to {walked} and {found}").into());
        }
    }
    let of = bytes.clone();
    suite.add("world/sizes", move |_| sizes([of.as_ref()].into_iter()));
    let mut encoder = Encoder::new();
    suite.add("world/serialize", move |parameters| {
        timed_whole(parameters, || {
            black_box(encoder.encode(&data)?);
            Ok(())
        })
    });
    let of = bytes.clone();
    suite.add("world/validate", move |parameters| {
        timed_whole(parameters, || {
            black_box(rkyv::access::<ArchivedWorld, Error>(black_box(of.as_ref()))?);
            Ok(())
        })
    });
    let of = bytes.clone();
    suite.add("world/read", move |parameters| {
        // SAFETY: the bytes are an archive that this program has written and checked, aligned to 16.
        let archived = unsafe { access_unchecked::<ArchivedWorld>(of.as_ref()) };
        timed_whole(parameters, || {
            black_box(walk(black_box(archived)));
            Ok(())
        })
    });
    let of = bytes.clone();
    suite.add("world/look_up", move |parameters| {
        // SAFETY: as above.
        let archived = unsafe { access_unchecked::<ArchivedWorld>(of.as_ref()) };
        timed_whole(parameters, || {
            black_box(look_up(black_box(archived), &wanted));
            Ok(())
        })
    });
    let (mut encoder, changed) = (Encoder::new(), world::changed());
    suite.add("world/send", move |parameters| {
        timed_whole(parameters, || {
            let received = black_box(&bytes).clone();
            let archived = rkyv::access::<ArchivedWorld, Error>(received.as_ref())?;
            let mut data = rkyv::deserialize::<World, Error>(archived)?;
            change(&mut data, &changed);
            black_box(encoder.encode(&data)?);
            Ok(())
        })
    });
    Ok(())
}
