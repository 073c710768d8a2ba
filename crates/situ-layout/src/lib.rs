//! The bytes: storage policies, containers and validation. No operating system, no threads.
