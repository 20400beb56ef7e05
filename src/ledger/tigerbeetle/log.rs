//! What TigerBeetle's client says while it tries: it goes to stderr unless somebody takes it,
//! a line for each refused connection. Taken here, its last words explain a reply that did not
//! come. The one place with `unsafe`: the crate has no safe way to take the log.

use std::{
    slice,
    sync::{Mutex, Once, PoisonError},
};

use tigerbeetle_unofficial_sys as sys;

static LAST_WORDS: Mutex<Option<String>> = Mutex::new(None);

/// Takes the log of every client of this process, from now on.
pub fn take() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the callback is a plain function that lives as long as the process, as the
        // client's threads do; it is registered before the first of them starts.
        let status = unsafe { sys::tb_client_register_log_callback(Some(keep), false) };
        assert_eq!(status, sys::TB_REGISTER_LOG_CALLBACK_STATUS::TB_REGISTER_LOG_CALLBACK_SUCCESS);
    });
}

/// The last message, if there was any.
pub fn last_words() -> Option<String> {
    LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

unsafe extern "C" fn keep(_: sys::TB_LOG_LEVEL::Type, text: *const u8, len: u32) {
    if text.is_null() {
        return;
    }
    // SAFETY: the client passes `len` bytes that stay where they are until this returns.
    let text = unsafe { slice::from_raw_parts(text, len as usize) };
    let text = String::from_utf8_lossy(text).into_owned();
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
}
