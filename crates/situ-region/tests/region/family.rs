//! The types and the value of the vector `family`: weak links to parents, around a ring, and to values that
//! have ended.

use situ_region::{
    HashMap, Maybe, OrderedMap, Ref, Region, ShareError, Shared, SortedMap, Text, Vector, Weak, region_struct,
};

region_struct! {
    pub struct Person: PersonRef, PersonMut {
        parent: Weak<Person>, name: Text, children: Vector<Shared<Person>>, friends: HashMap<Text, Weak<Person>>,
    }
}
region_struct! { pub struct Home: HomeRef, HomeMut { rent: f64, next: Weak<Home> } }
region_struct! {
    pub struct Family: FamilyRef, FamilyMut {
        youngest: Weak<Person>, gone: [Weak<Person>; 2], eldest: Shared<Person>,
        names: SortedMap<Text, Weak<Person>>, homes: Vector<Shared<Home>>, sold: Vector<Weak<Home>>,
        home: Maybe<Weak<Home>>, guests: OrderedMap<u16, Weak<Person>>,
    }
}

/// The link to the person to whom a path of indices of children leads.
pub fn link_to<'r>(family: Ref<'r, Family>, path: &[usize]) -> Option<Ref<'r, Shared<Person>>> {
    path.iter().try_fold(family.eldest(), |person, child| person.get()?.children().get(*child))
}

pub fn person<'r>(family: Ref<'r, Family>, path: &[usize]) -> Ref<'r, Person> {
    link_to(family, path).unwrap().get().unwrap()
}

/// A handle to change the person to whom a path leads.
macro_rules! person_mut {
    ($family:expr $(, $child:expr)*) => {
        $family.eldest().get_mut().unwrap()$(.children().get_mut($child).unwrap().get_mut().unwrap())*
    };
}

#[allow(unused_imports)] // The fuzz targets have this file, too.
pub(crate) use person_mut;

/// The value `family` of the vectors.
pub fn family() -> Result<Region<Family>, ShareError> {
    let mut r = Region::<Family>::new();
    let mut f = r.root_mut();
    f.eldest().fill()?.name().set("Ann")?;
    person_mut!(f).children().push_default()?.fill()?.name().set("Benjamin the elder")?;
    person_mut!(f).children().push_default()?.fill()?.name().set("Cleo")?;
    person_mut!(f, 0).children().push_default()?.fill()?.name().set("Daniel of the hill")?;
    for _ in 0..5 {
        f.homes().push_default()?;
        f.sold().push_default()?;
    }
    for (i, rent) in [(0, 0.0), (2, 0.5), (3, 1.0)] {
        *f.homes().get_mut(i).unwrap().fill()?.rent() = rent;
    }
    // The value that is gone in the end.
    let mut others = f.homes();
    others.push_default()?.fill()?;
    f.names().entry("nobody")?;
    (0..60_u16).try_for_each(|i| f.guests().entry(i * 7 % 100).map(drop))?;
    f.share(
        |f| Some(f.eldest()),
        |mut f, ann| {
            person_mut!(f).parent().link(ann)?;
            person_mut!(f, 0).parent().link(ann)?;
            person_mut!(f, 1).parent().link(ann)?;
            person_mut!(f).friends().entry("Ann")?.link(ann)
        },
    )?;
    f.share(
        |f| link_to(f, &[0]),
        |mut f, ben| {
            person_mut!(f, 0, 0).parent().link(ben)?;
            (0..15).try_for_each(|i| f.guests().entry(i * 28 % 100)?.link(ben))?;
            f.names().entry("a name that is long")?.link(ben)
        },
    )?;
    f.share(
        |f| link_to(f, &[1]),
        |mut f, cleo| {
            person_mut!(f).friends().entry("Cleo")?.link(cleo)?;
            person_mut!(f, 0, 0).friends().entry("aunt")?.link(cleo)
        },
    )?;
    f.share(
        |f| link_to(f, &[0, 0]),
        |mut f, dan| {
            f.youngest().link(dan)?;
            (0..15).try_for_each(|i| f.guests().entry((i * 28 + 21) % 100)?.link(dan))?;
            f.names().entry("dan")?.link(dan)?;
            person_mut!(f).friends().entry("Daniel of the hill")?.link(dan)
        },
    )?;
    person_mut!(f).children().push_default()?.fill()?.name().set("somebody who is gone")?;
    f.share(
        |f| link_to(f, &[2]),
        |mut f, gone| {
            person_mut!(f, 2).parent().link(gone)?;
            person_mut!(f, 0, 0).friends().entry("an uncle who moved")?.link(gone)?;
            (0..15).try_for_each(|i| f.guests().entry((i * 28 + 7) % 100)?.link(gone))?;
            (0..2).try_for_each(|i| f.gone().get_mut(i).unwrap().link(gone))
        },
    )?;
    assert!(person_mut!(f).children().remove(2));
    f.share(
        |f| f.homes().get(0),
        |mut f, first| {
            f.homes().get_mut(4).unwrap().link(first)?;
            f.home().fill().link(first)?;
            f.homes().get_mut(3).unwrap().get_mut().unwrap().next().link(first)
        },
    )?;
    f.share(
        |f| f.homes().get(2),
        |mut f, second| f.homes().get_mut(0).unwrap().get_mut().unwrap().next().link(second),
    )?;
    f.share(
        |f| f.homes().get(3),
        |mut f, third| {
            f.sold().get_mut(1).unwrap().link(third)?;
            f.homes().get_mut(2).unwrap().get_mut().unwrap().next().link(third)
        },
    )?;
    f.share(
        |f| f.homes().get(5),
        |mut f, sold| [0, 3, 4].into_iter().try_for_each(|i| f.sold().get_mut(i).unwrap().link(sold)),
    )?;
    assert!(f.homes().remove(5));
    Ok(r)
}
