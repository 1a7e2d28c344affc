#pragma once
#include "Spawn.h"
#include "Screen.h"
