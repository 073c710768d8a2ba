//! Situ's regions: the data set `world`, live, canonical and packed.

use std::hint::black_box;
use std::rc::Rc;

use situ_region::{Full, HashMap, Maybe, Mut, Options, OrderedMap, Packed, Ref, Region, ShareError, Shared};
use situ_region::{SortedMap, Text, Vector, region_plain, region_struct, region_union, view, view_packed};

use crate::data::world::{self, Kind as SourceKind, text};
use crate::suite::{Aligned, Outcome, Suite, sizes, timed_whole};

region_struct! {
    struct Faction: FactionRef, FactionMut { name: Text, motto: Text, members: u32, allies: Vector<Text> }
}
region_struct! { struct Monster: MonsterRef, MonsterMut { level: u32, loot: Vector<u32> } }
region_plain! { struct Thing { weight: f32, price: u32 } }
region_union! {
    union Kind: KindRef, KindMut (u8) { 0 => monster: Monster, 1 => thing: Thing, 2 => scenery: Text }
}
region_struct! {
    struct Entity: EntityRef, EntityMut {
        name: Text, position: [f32; 3], health: u32, title: Maybe<Text>, tags: Vector<Text>,
        relations: SortedMap<Text, Vector<u64>>, kind: Kind, faction: Shared<Faction>, owner: Maybe<u64>,
    }
}
region_struct! {
    struct Site: SiteRef, SiteMut { name: Text, entities: Vector<u64>, sites: Vector<Site> }
}
region_struct! {
    struct World: WorldRef, WorldMut {
        name: Text, entities: HashMap<u64, Entity>, names: HashMap<Text, u64>,
        lore: OrderedMap<Text, SortedMap<Text, Vector<Text>>>, factions: Vector<Shared<Faction>>, root: Site,
    }
}

/// As much as the greatest live region of the set needs.
const OPTIONS: fn() -> Options = || Options { limit: 512 << 20, ..Options::default() };

fn fill_texts(mut to: Mut<'_, Vector<Text>>, from: &[String]) -> Result<(), Full> {
    to.reserve(from.len())?;
    from.iter().try_for_each(|text| to.push(text.as_str()))
}

fn fill_faction(mut to: Mut<'_, Faction>, from: &world::Faction) -> Result<(), Full> {
    to.name().set(from.name.as_str())?;
    to.motto().set(from.motto.as_str())?;
    *to.members() = from.members;
    fill_texts(to.allies(), &from.allies)
}

fn fill_entity(mut to: Mut<'_, Entity>, from: &world::Entity) -> Result<(), Full> {
    to.name().set(from.name.as_str())?;
    *to.position() = from.position;
    *to.health() = from.health;
    to.title().set(from.title.as_deref())?;
    fill_texts(to.tags(), &from.tags)?;
    let mut relations = to.relations();
    relations.reserve(from.relations.len())?;
    for (of, to) in &from.relations {
        relations.entry(of)?.set(&to[..])?;
    }
    let mut kind = to.kind();
    match &from.kind {
        SourceKind::Monster(from) => {
            kind.select(0);
            let Some(mut to) = kind.monster() else { return Ok(()) };
            *to.level() = from.level;
            to.loot().set(&from.loot[..])?;
        }
        SourceKind::Thing(from) => {
            kind.select(1);
            let Some(mut to) = kind.thing() else { return Ok(()) };
            *to = Thing { weight: from.weight, price: from.price };
        }
        SourceKind::Scenery(from) => {
            kind.select(2);
            let Some(mut to) = kind.scenery() else { return Ok(()) };
            to.set(from.as_str())?;
        }
    }
    to.owner().set(from.owner)
}

fn fill_site(mut to: Mut<'_, Site>, from: &world::Site) -> Result<(), Full> {
    to.name().set(from.name.as_str())?;
    to.entities().set(&from.entities[..])?;
    let mut sites = to.sites();
    sites.reserve(from.sites.len())?;
    from.sites.iter().try_for_each(|from| fill_site(sites.push_default()?, from))
}

fn fill(mut to: Mut<'_, World>, from: &world::World) -> Result<(), ShareError> {
    to.name().set(from.name.as_str())?;
    let mut entities = to.entities();
    entities.reserve(from.entities.len())?;
    for (number, entity) in &from.entities {
        fill_entity(entities.entry(*number)?, entity)?;
    }
    let mut names = to.names();
    names.reserve(from.names.len())?;
    from.names.iter().try_for_each(|(name, number)| names.insert(name, *number))?;
    let mut lore = to.lore();
    for (title, book) in &from.lore {
        let mut to = lore.entry(title)?;
        to.reserve(book.len())?;
        book.iter().try_for_each(|(chapter, lines)| fill_texts(to.entry(chapter)?, lines))?;
    }
    fill_site(to.root(), &from.root)?;
    let mut factions = to.factions();
    factions.reserve(from.factions.len())?;
    from.factions.iter().try_for_each(|from| fill_faction(factions.push_default()?.fill()?, from))?;
    // The entities of each faction.
    let places: std::collections::HashMap<_, _> =
        from.factions.iter().map(Rc::as_ptr).zip(0_usize..).collect();
    let mut members = vec![Vec::new(); from.factions.len()];
    for (number, entity) in &from.entities {
        if let Some(faction) = &entity.faction {
            members[places[&Rc::as_ptr(faction)]].push(*number);
        }
    }
    for (place, members) in members.iter().enumerate() {
        to.share(
            |world| world.factions().get(place),
            |mut world, faction| {
                let mut entities = world.entities();
                members.iter().try_for_each(|number| match entities.get_mut(*number) {
                    Some(mut entity) => entity.faction().link(faction),
                    None => Ok(()),
                })
            },
        )?;
    }
    Ok(())
}

fn built(from: &world::World) -> Outcome<Region<World>> {
    let mut region = Region::<World>::with_options(OPTIONS());
    fill(region.root_mut(), from)?;
    Ok(region)
}

/// Reads all of a world, through one kind of handle.
macro_rules! reads {
    ($walk:ident, $places:ident, $look_up:ident, $handle:ident) => {
        fn $places(of: $handle<'_, Site>) -> u64 {
            let entities = of.entities().as_slice().iter().fold(0, |sum, id| sum ^ id);
            text(&of.name()) + entities + of.sites().iter().map($places).sum::<u64>()
        }

        fn $walk(of: $handle<'_, World>) -> u64 {
            let mut total = text(&of.name()) + $places(of.root());
            for (id, it) in of.entities().iter() {
                total += id + text(&it.name()) + u64::from(*it.health());
                total += u64::from(it.position()[2].to_bits());
                total += it.title().get().map_or(0, |of| text(&of));
                total += it.tags().iter().map(|each| text(&each)).sum::<u64>();
                total += it.owner().get().map_or(1, |of| *of);
                for (of, to) in it.relations().iter() {
                    total += text(of) + to.as_slice().iter().sum::<u64>();
                }
                let kind = it.kind();
                total += if let Some(it) = kind.monster() {
                    let loot = it.loot().as_slice().iter().map(|each| u64::from(*each)).sum::<u64>();
                    u64::from(*it.level()) + loot
                } else if let Some(it) = kind.thing() {
                    u64::from(it.price)
                } else {
                    kind.scenery().map_or(0, |of| text(&of))
                };
                total += it.faction().get().map_or(0, |of| u64::from(*of.members()));
            }
            total += of.names().iter().map(|(name, id)| text(name) + *id).sum::<u64>();
            for (title, book) in of.lore().iter() {
                total += text(title);
                for (of, lines) in book.iter() {
                    total += text(of) + lines.iter().map(|each| text(&each)).sum::<u64>();
                }
            }
            total
        }

        fn $look_up(of: $handle<'_, World>, wanted: &[String]) -> u64 {
            let (names, entities) = (of.names(), of.entities());
            let health = |id: u64| entities.get(id).map_or(0, |it| u64::from(*it.health()));
            wanted.iter().map(|name| names.get(name).map_or(0, |id| health(*id))).sum()
        }
    };
}

reads!(walk, places, look_up, Ref);
reads!(walk_packed, places_packed, look_up_packed, Packed);

fn change(mut of: Mut<'_, World>, numbers: &[u64]) -> Result<(), Full> {
    let mut entities = of.entities();
    for number in numbers {
        let Some(mut it) = entities.get_mut(*number) else { continue };
        *it.health() /= 2;
        it.tags().push(world::NEW_TAG)?;
    }
    Ok(())
}

fn expect(data: &world::World, walked: u64, found: u64) -> Outcome<()> {
    if (walked, found) == (world::sum(data), world::found(data)) {
        return Ok(());
    }
    Err(format!("world adds up to {walked} and {found}").into())
}

/// Adds the data set: canonical images are measured and checked, live regions are read, sent and changed.
pub fn add(suite: &mut Suite) -> Outcome<()> {
    let data = world::make();
    let wanted = world::wanted();
    let region = Rc::new(built(&data)?);
    expect(&data, walk(region.root()), look_up(region.root(), &wanted))?;
    let canonical = Rc::new(Aligned::new(&region.canonical()));
    let of = Rc::clone(&canonical);
    suite.add("world/sizes", move |_| sizes([(*of).as_ref()].into_iter()));
    let of = Rc::clone(&canonical);
    suite.add("world/export", move |parameters| {
        std::fs::write(parameters.text("image"), (*of).as_ref())?;
        Ok(Vec::new())
    });
    let of = Rc::clone(&region);
    suite.add("world/live_sizes", move |_| sizes([of.bytes()].into_iter()));
    suite.add("world/serialize", move |parameters| {
        timed_whole(parameters, || {
            black_box(built(black_box(&data))?.bytes());
            Ok(())
        })
    });
    suite.add("world/validate", move |parameters| {
        timed_whole(parameters, || {
            black_box(view::<World>(black_box((*canonical).as_ref()))?);
            Ok(())
        })
    });
    let live = Rc::new(Aligned::new(region.bytes()));
    let of = Rc::clone(&live);
    suite.add("world/validate_live", move |parameters| {
        timed_whole(parameters, || {
            black_box(view::<World>(black_box((*of).as_ref()))?);
            Ok(())
        })
    });
    let of = Rc::clone(&region);
    suite.add("world/read", move |parameters| {
        timed_whole(parameters, || {
            black_box(walk(black_box(of.root())));
            Ok(())
        })
    });
    suite.add("world/look_up", move |parameters| {
        timed_whole(parameters, || {
            black_box(look_up(black_box(region.root()), &wanted));
            Ok(())
        })
    });
    let changed = world::changed();
    suite.add("world/send", move |parameters| {
        timed_whole(parameters, || {
            let mut region = Region::<World>::adopt_with(black_box((*live).as_ref()), OPTIONS())?;
            change(region.root_mut(), &changed)?;
            black_box(region.bytes());
            Ok(())
        })
    });
    Ok(())
}

/// Adds the data set in its packed form.
pub fn add_packed(suite: &mut Suite) -> Outcome<()> {
    let data = world::make();
    let wanted = world::wanted();
    let region = built(&data)?;
    let packed = Rc::new(Aligned::new(&region.packed()));
    let root = view_packed::<World>((*packed).as_ref())?;
    expect(&data, walk_packed(root), look_up_packed(root, &wanted))?;
    let of = Rc::clone(&packed);
    suite.add("world/sizes", move |_| sizes([(*of).as_ref()].into_iter()));
    let room = region.bytes().len();
    let mut buffer = vec![0; room];
    suite.add("world/serialize", move |parameters| {
        timed_whole(parameters, || {
            let region = built(black_box(&data))?;
            black_box(region.packed_into(&mut buffer)?);
            Ok(())
        })
    });
    let of = Rc::clone(&packed);
    suite.add("world/validate", move |parameters| {
        timed_whole(parameters, || {
            black_box(view_packed::<World>(black_box((*of).as_ref()))?);
            Ok(())
        })
    });
    let of = Rc::clone(&packed);
    suite.add("world/read", move |parameters| {
        let root = view_packed::<World>((*of).as_ref())?;
        timed_whole(parameters, || {
            black_box(walk_packed(black_box(root)));
            Ok(())
        })
    });
    let of = Rc::clone(&packed);
    suite.add("world/look_up", move |parameters| {
        let root = view_packed::<World>((*of).as_ref())?;
        timed_whole(parameters, || {
            black_box(look_up_packed(black_box(root), &wanted));
            Ok(())
        })
    });
    let mut to = vec![0; room];
    suite.add("world/pack", move |parameters| {
        timed_whole(parameters, || {
            black_box(region.packed_into(black_box(&mut to))?);
            Ok(())
        })
    });
    let of = Rc::clone(&packed);
    suite.add("world/unpack", move |parameters| {
        timed_whole(parameters, || {
            black_box(Region::<World>::adopt_with(black_box((*of).as_ref()), OPTIONS())?.bytes());
            Ok(())
        })
    });
    let (changed, mut buffer) = (world::changed(), vec![0; room]);
    suite.add("world/send", move |parameters| {
        timed_whole(parameters, || {
            let mut region = Region::<World>::adopt_with(black_box((*packed).as_ref()), OPTIONS())?;
            change(region.root_mut(), &changed)?;
            black_box(region.packed_into(&mut buffer)?);
            Ok(())
        })
    });
    Ok(())
}
