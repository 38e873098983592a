import TapCore
