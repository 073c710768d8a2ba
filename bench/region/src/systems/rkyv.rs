//! rkyv 0.8: archives of ordinary structs, checked by bytecheck. Numbers in an archive can be changed in
//! place. A change of size requires deserializing and serializing.

use std::hint::black_box;

use rkyv::munge::munge;
use rkyv::rancor::Error;
use rkyv::vec::ArchivedVec;

use super::native::{ArchivedCharacter, ArchivedItem, Character, change, made};
use super::rkyv_encoder::Encoder;
use super::{Set, rkyv_world};
use crate::character::{changes, expect_sum, sources};
use crate::character::{sum_f32, sum_item, sum_text};
use crate::data::{log, mesh, minecraft, mk48, tables, words, world};
use crate::suite::{Aligned, MESSAGES, Outcome, Suite, sizes, timed};

fn read(c: &ArchivedCharacter) -> u64 {
    let mut total =
        c.id.to_native().wrapping_add(sum_text(&c.name)).wrapping_add(u64::from(c.level.to_native()));
    let mut add = |part: u64| total = total.wrapping_add(part);
    let of_item = |i: &ArchivedItem| {
        sum_item(i.id.to_native(), i.number.to_native(), i.uuid.to_native(), i.timestamp.to_native())
    };
    add(sum_f32(&[c.healthpoint.to_native(), c.manapoint.to_native(), c.speed.to_native()]));
    add(sum_f32(&c.pos.map(|each| each.to_native())));
    for (key, value) in c.items.iter() {
        add(key.to_native());
        add(of_item(value));
    }
    c.path.iter().for_each(|each| add(sum_f32(&each.map(|each| each.to_native()))));
    c.attributes.iter().for_each(|each| add(u64::from(each.to_native().to_bits())));
    for each in c.equips.iter() {
        add(of_item(&each.base));
        add(u64::from(each.level.to_native()));
        each.attributes.iter().for_each(|each| add(u64::from(each.to_native().to_bits())));
    }
    for each in c.skills.iter() {
        add(u64::from(each.id.to_native()) + u64::from(each.level.to_native()));
    }
    total
}

fn characters(suite: &mut Suite) -> Outcome<()> {
    let received = sources()
        .iter()
        .map(|source| Ok(Aligned::new(Encoder::new().encode(&made(source))?)))
        .collect::<Outcome<Vec<_>>>()?;
    let unchecked = |bytes: &Aligned| -> u64 {
        // SAFETY: the bytes are an archive that this program has just written, aligned to 16.
        read(unsafe { rkyv::access_unchecked::<ArchivedCharacter>(bytes.as_ref()) })
    };
    for (i, bytes) in received.iter().enumerate() {
        expect_sum(i, unchecked(bytes))?;
    }
    let of = received.clone();
    suite.add("sizes", move |_| sizes(of.iter().map(AsRef::as_ref)));
    let mut encoder = Encoder::new();
    suite.add("build", move |parameters| {
        timed(
            parameters,
            &mut encoder,
            |_| (),
            |encoder, i| {
                black_box(encoder.encode(&made(&sources()[i]))?);
                Ok(())
            },
        )
    });
    let of = received.clone();
    suite.add("read", move |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box(unchecked(&of[i]));
                Ok(())
            },
        )
    });
    let of = received.clone();
    suite.add("validate", move |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box(rkyv::access::<ArchivedCharacter, Error>(of[i].as_ref())?);
                Ok(())
            },
        )
    });
    let of = received.clone();
    let decode = move |i: usize| -> Outcome<Character> {
        let archived = rkyv::access::<ArchivedCharacter, Error>(of[i].as_ref())?;
        Ok(rkyv::deserialize::<Character, Error>(archived)?)
    };
    let of = decode.clone();
    suite.add("decode", move |parameters| {
        timed(
            parameters,
            &mut (),
            |()| (),
            |(), i| {
                black_box(of(i)?);
                Ok(())
            },
        )
    });
    let mut encoder = Encoder::new();
    suite.add("mutate_send", move |parameters| {
        timed(
            parameters,
            &mut encoder,
            |_| (),
            |encoder, i| {
                let mut c = decode(i)?;
                change(&mut c, &changes()[i]);
                black_box(encoder.encode(&c)?);
                Ok(())
            },
        )
    });
    let natives: Vec<Character> = sources().iter().map(made).collect();
    debug_assert_eq!(natives.len(), MESSAGES);
    let mut encoder = Encoder::new();
    suite.add("encode", move |parameters| {
        timed(
            parameters,
            &mut encoder,
            |_| (),
            |encoder, i| {
                black_box(encoder.encode(&natives[i])?);
                Ok(())
            },
        )
    });
    Ok(())
}

macro_rules! data_set {
    ($suite:ident, $name:literal, $module:ident, $archived:ty, $read:expr, $update:expr) => {{
        let data = $module::make();
        let sum = $module::sum(&data);
        let bytes = Aligned::new(Encoder::new().encode(&data)?);
        let read = move |bytes: &[u8]| -> Outcome<u64> {
            // SAFETY: the bytes are an archive that this program has written, aligned to 16.
            Ok($read(unsafe { rkyv::access_unchecked::<$archived>(bytes) }))
        };
        let update = |bytes: &mut [u8]| -> Outcome<()> {
            // SAFETY: as above, and only numbers are changed.
            $update(unsafe { rkyv::access_unchecked_mut::<$archived>(bytes) });
            Ok(())
        };
        let validate = |bytes: &[u8]| -> Outcome<()> {
            black_box(rkyv::access::<$archived, Error>(bytes)?);
            Ok(())
        };
        let mut encoder = Encoder::new();
        Set { name: $name, sum, bytes, read, update: Some(update), validate: Some(validate) }.add(
            &mut $suite,
            move || {
                black_box(encoder.encode(&data)?);
                Ok(())
            },
        )?;
    }};
}

/// All operations of the system.
pub fn suite() -> Outcome<Suite> {
    let mut suite = Suite::default();
    characters(&mut suite)?;
    data_set!(
        suite,
        "log",
        log,
        log::ArchivedLogs,
        |data: &log::ArchivedLogs| -> u64 {
            let part = |l: &log::ArchivedLog| {
                let a = &l.address;
                log::part([a.x0, a.x1, a.x2, a.x3], l.code.to_native(), l.size.to_native())
            };
            data.logs.iter().map(part).sum()
        },
        |data: rkyv::seal::Seal<'_, log::ArchivedLogs>| {
            munge!(let log::ArchivedLogs { logs } = data);
            let mut logs = ArchivedVec::as_slice_seal(logs);
            for i in 0..logs.len() {
                munge!(let log::ArchivedLog {
                    address: log::ArchivedAddress { mut x0, mut x1, mut x2, mut x3 }, mut code, mut size, ..
                } = logs.as_mut().index(i));
                (*x0, *x1, *x2, *x3) = (0, 0, 0, 0);
                *code = 200.into();
                *size = 0.into();
            }
        }
    );
    data_set!(
        suite,
        "mesh",
        mesh,
        mesh::ArchivedMesh,
        |data: &mesh::ArchivedMesh| -> u64 {
            let part = |t: &mesh::ArchivedTriangle| {
                mesh::part(t.normal.x.to_native(), t.normal.y.to_native(), t.normal.z.to_native())
            };
            data.triangles.iter().map(part).sum()
        },
        |data: rkyv::seal::Seal<'_, mesh::ArchivedMesh>| {
            munge!(let mesh::ArchivedMesh { triangles } = data);
            let mut triangles = ArchivedVec::as_slice_seal(triangles);
            for i in 0..triangles.len() {
                munge!(let mesh::ArchivedTriangle {
                    normal: mesh::ArchivedVector3 { mut x, mut y, mut z }, ..
                } = triangles.as_mut().index(i));
                *x = 0.0.into();
                *y = 0.0.into();
                *z = 0.0.into();
            }
        }
    );
    data_set!(
        suite,
        "minecraft_savedata",
        minecraft,
        minecraft::ArchivedPlayers,
        |data: &minecraft::ArchivedPlayers| -> u64 {
            data.players.iter().map(|player| player.game_type as u64).sum()
        },
        |data: rkyv::seal::Seal<'_, minecraft::ArchivedPlayers>| {
            munge!(let minecraft::ArchivedPlayers { players } = data);
            let mut players = ArchivedVec::as_slice_seal(players);
            for i in 0..players.len() {
                munge!(let minecraft::ArchivedPlayer { game_type, mut spawn, .. } = players.as_mut().index(i));
                // SAFETY: the value has one byte, and every value of this byte is defined.
                *unsafe { game_type.unseal_unchecked() } = minecraft::ArchivedGameType::Survival;
                *spawn = [0.into(), 0.into(), 0.into()];
            }
        }
    );
    data_set!(
        suite,
        "mk48",
        mk48,
        mk48::ArchivedUpdates,
        |data: &mk48::ArchivedUpdates| -> u64 {
            data.updates.iter().map(|update| u64::from(update.score.to_native())).sum()
        },
        |data: rkyv::seal::Seal<'_, mk48::ArchivedUpdates>| {
            munge!(let mk48::ArchivedUpdates { updates } = data);
            let mut updates = ArchivedVec::as_slice_seal(updates);
            for i in 0..updates.len() {
                munge!(let mk48::ArchivedUpdate { mut score, .. } = updates.as_mut().index(i));
                let doubled = score.to_native().wrapping_mul(2);
                *score = doubled.into();
            }
        }
    );
    let wanted = tables::wanted();
    data_set!(
        suite,
        "tables",
        tables,
        tables::ArchivedTables,
        |data: &tables::ArchivedTables| -> u64 {
            let id = |key: &u64| data.by_number.get(&(*key).into()).map_or(0, |item| item.id.to_native());
            let number =
                |name: &String| data.by_name.get(name.as_str()).map_or(0, |number| number.to_native());
            let ids: u64 = wanted.numbers.iter().map(|key| u64::from(id(key))).sum();
            ids + wanted.names.iter().map(|name| u64::from(number(name))).sum::<u64>()
        },
        |_: rkyv::seal::Seal<'_, tables::ArchivedTables>| {}
    );
    data_set!(
        suite,
        "words",
        words,
        words::ArchivedWords,
        |data: &words::ArchivedWords| -> u64 { data.words.iter().map(|word| world::text(word)).sum() },
        |_: rkyv::seal::Seal<'_, words::ArchivedWords>| {}
    );
    rkyv_world::add(&mut suite)?;
    Ok(suite)
}
