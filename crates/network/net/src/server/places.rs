//! The places of applications, by which their owners are numbered.

use super::application::Application;
use crate::engine::Owner;

/// Applications at most.
pub const APPLICATIONS: usize = 1024;

/// The places.
#[derive(Default)]
pub struct Places(Vec<Place>);

/// A place of an application: another one that has it later is another owner.
#[derive(Default)]
struct Place {
    uses: u32,
    application: Option<Box<Application>>,
}

impl Place {
    /// The owner that has the place `at`, or had it last.
    fn owner(&self, at: usize) -> Owner {
        Owner(self.uses.wrapping_mul(APPLICATIONS as u32) + at as u32)
    }
}

impl Places {
    /// Adds the application that `new` makes for its owner; `None` if there are too many.
    pub fn add(&mut self, new: impl FnOnce(Owner) -> Application) -> Option<Owner> {
        let free = self.0.iter().position(|p| p.application.is_none());
        let at = free.unwrap_or(self.0.len());
        if at == APPLICATIONS {
            return None;
        }
        if free.is_none() {
            self.0.push(Place::default());
        }
        let place = &mut self.0[at];
        place.uses = place.uses.wrapping_add(1);
        let owner = place.owner(at);
        place.application = Some(Box::new(new(owner)));
        Some(owner)
    }

    /// The application of an owner.
    pub fn get(&self, owner: Owner) -> Option<&Application> {
        let at = owner.0 as usize % APPLICATIONS;
        let place = self.0.get(at).filter(|place| place.owner(at) == owner)?;
        place.application.as_deref()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, owner: Owner) -> Option<&mut Application> {
        self.place(owner)?.application.as_deref_mut()
    }

    fn place(&mut self, owner: Owner) -> Option<&mut Place> {
        let at = owner.0 as usize % APPLICATIONS;
        let place = self.0.get_mut(at)?;
        (place.owner(at) == owner).then_some(place)
    }

    /// All, with their owners.
    pub fn each(&mut self) -> impl Iterator<Item = (Owner, &mut Application)> {
        self.0.iter_mut().enumerate().filter_map(|(at, place)| {
            let owner = place.owner(at);
            Some((owner, place.application.as_deref_mut()?))
        })
    }

    /// How many are not gone.
    pub fn count(&self) -> usize {
        let all = self.0.iter().filter_map(|place| place.application.as_ref());
        all.filter(|found| found.ends.is_some()).count()
    }

    /// Frees the place of an owner. Whether it had one.
    pub fn remove(&mut self, owner: Owner) -> bool {
        self.place(owner)
            .is_some_and(|place| place.application.take().is_some())
    }
}
