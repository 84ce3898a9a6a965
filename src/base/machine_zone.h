/* base/machine_zone.h - the time zone of the machine: TZ, else the target of /etc/localtime, else UTC. */
#pragma once

#include "base/calendar.h"

const nl_timezone *nl_timezone_machine(void); /* borrowed for ever */
