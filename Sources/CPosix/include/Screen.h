#pragma once

/// Puts the terminal at descriptor `fd` into raw mode with bracketed paste, and sees to it that it is put back whatever
/// ends the process: exit, a signal that kills, a trap. ^Z and kill -STOP/-CONT put it back and raw again.
/// Returns 0 or an errno.
int starling_screen_raw(int fd);

/// Puts the terminal back. Does nothing if it is not raw. Safe in a signal handler.
void starling_screen_restore(void);

/// Stops the process as ^Z does, with the terminal put back meanwhile; returns when it goes on, raw again.
void starling_screen_suspend(void);

/// A descriptor that becomes readable when the window has changed its size or the process goes on after a stop;
/// read it empty. -1 before starling_screen_raw.
int starling_screen_wake_fd(void);

/// Columns and rows of the terminal at `fd`. Returns 0 or an errno; it may have no size.
int starling_screen_size(int fd, int *columns, int *rows);
