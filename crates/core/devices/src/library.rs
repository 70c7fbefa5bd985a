//! Drivers: libraries that are looked for when they are needed, so evener starts without them.

use std::error::Error;

use libloading::Library;

/// Declares a driver's functions, with `load`, which finds them all or says what is missing.
macro_rules! functions {
    ($(#[$about:meta])* $table:ident: $($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(#[$about])*
        #[allow(non_snake_case)]
        pub struct $table {
            $(pub $name: unsafe extern "system" fn($($argument),*) -> $result,)*
        }

        impl $table {
            /// Finds the functions in the first of `names` that is there. `Ok(None)` if none is. The library stays
            /// loaded: drivers have threads of their own.
            pub fn load(names: &[&str]) -> Result<Option<$table>, String> {
                let Some(library) = $crate::library::first(names)? else {
                    return Ok(None);
                };
                let library = std::mem::ManuallyDrop::new(library);
                Ok(Some($table {
                    $($name: {
                        let name = concat!(stringify!($name), "\0").as_bytes();
                        // SAFETY: the interface defines the function with this type.
                        match unsafe { library.get(name) } {
                            Ok(function) => *function,
                            Err(_) => return Err(format!("it lacks {}", stringify!($name))),
                        }
                    },)*
                }))
            }
        }
    };
}

pub(crate) use functions;

/// The first of `names` that is there.
pub fn first(names: &[&str]) -> Result<Option<Library>, String> {
    let mut why = None;
    for name in names {
        // SAFETY: it is a driver by its name; what it does when it is loaded is the system's choice, as with any library.
        match unsafe { Library::new(*name) } {
            Ok(library) => return Ok(Some(library)),
            Err(error) => {
                // What the system says is behind what was tried.
                let text = error
                    .source()
                    .map_or_else(|| error.to_string(), ToString::to_string);
                // One that is there and cannot be loaded is worth a line.
                let missing = text.starts_with(name) && text.contains("No such file");
                if cfg!(target_os = "linux") && !missing && why.is_none() {
                    why = Some(text);
                }
            }
        }
    }
    why.map_or(Ok(None), Err)
}
