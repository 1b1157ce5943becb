#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""Block that switches a noise source by what its receiver has: a setting, a pin, or a call."""

import pmt

from . import tags
from .parameters.description import Anything, Integer, Switch, Text
from .parameters.rules import refuse
from .streams.python_block import printable, python_block, text_of
from .streams.tag_values import dict_value, dictionary

#: attributes that make a pin of a USRP an output that the program sets
UHD_SETUP = ("CTRL", 0), ("DDR", 1)


class noise_switch(python_block):
    """
    Switches a noise source, or the bias tee that feeds it, by what its receiver has.

    Message port `noise` takes what `stream_align` and `calibrator` send, a dictionary of `noise`
    with true or false (a pair, as a QT GUI Toggle Button sends it, too). Where several blocks ask,
    each names itself as `model`, and the source is on as long as one of them wants it. What the
    receiver is to do leaves on the port `command`:

    - `setting`: {setting: {key, value}} for the port `cmd` of a Soapy source: a setting that the
      driver has of each channel
    - `gpio`: {gpio: {bank, value, mask}} for the same, with {gpio_dir: {bank, dir, mask}} before
    - `uhd`: {gpio: {bank, attr, value, mask}} for the port `command` of a USRP source
    - `call`: nothing; instead `call(on)` is called, for what no message reaches. The bias tee of
      an RTL-SDR is a setting of its device, which messages do not reach: lambda on:
      source.write_setting("biastee", on)

    It has no stream, and reads no tags. When the flowgraph stops, a source that is on is switched
    off; by `call` surely, by a message if the receiver still takes one.

    Raises:
        ValueError: A parameter is not allowed.
    """

    def __init__(
        self,
        by: Text(
            "How the receiver is told: setting, gpio, uhd or call.",
            "setting",
            "gpio",
            "uhd",
            "call",
        ) = "setting",
        name: Text("Name of the setting, or of the bank of pins.") = "biastee",
        pin: Integer("Number of the pin in its bank.", 0, 31) = 0,
        inverted: Switch("True if the source is on where the pin or the setting is off.") = False,
        call: Anything("With `call`, a function of one argument: True to switch it on.") = None,
    ):
        if (by == "call") != callable(call):
            refuse("call", call, "a function of one argument if `by` is call, and None otherwise")
        if by != "call" and not name:
            refuse("name", name, "the name of a setting or of a bank of pins")
        self._by, self._name, self._pin, self._inverted = by, name, pin, inverted
        self._call = call
        self._on, self._wanted = False, {}  # by whom: whether it wants the source on
        super().__init__("noise_switch", in_sig=None, out_sig=None)
        self._port = pmt.intern("command")
        self.message_port_register_out(self._port)
        self.message_port_register_in(pmt.intern("noise"))
        self.set_msg_handler(pmt.intern("noise"), self._take)

    def on(self):
        """Returns whether the noise source was switched on last."""
        return self._on

    def _start(self):
        self._on, self._wanted = False, {}
        for message in self._setup():
            self.message_port_pub(self._port, message)

    def _stop(self):
        if self._on:
            self._switch(False)

    def _take(self, message):
        model = pmt.PMT_NIL
        if pmt.is_dict(message):
            wanted = dict_value(message, tags.noise)
            model = dict_value(message, tags.model)
        elif pmt.is_pair(message) and pmt.equal(pmt.car(message), pmt.intern(tags.noise)):
            wanted = pmt.cdr(message)
        else:
            wanted = pmt.PMT_NIL
        if pmt.is_bool(wanted) or (pmt.is_number(wanted) and not pmt.is_complex(wanted)):
            on = pmt.to_bool(wanted) if pmt.is_bool(wanted) else pmt.to_double(wanted) != 0
            self._wanted[pmt.write_string(model)] = on
            self._switch(any(self._wanted.values()))
        else:
            self.logger.error(
                f"{pmt.write_string(message)[:80]}: a dictionary or a pair of noise with true or "
                "false is expected"
            )

    def _switch(self, on):
        self._on = on
        level = on != self._inverted
        try:
            if self._by == "call":
                self._call(level)
            else:
                self.message_port_pub(self._port, self._command(level))
        except Exception as error:
            # the flowgraph goes on: stream_align says that the switch does not answer
            what = "on" if on else "off"
            self.logger.error(
                printable(f"the noise source cannot be switched {what}: {text_of(error)}")
            )

    def _pins(self, key, bit, **more):
        pins = {"bank": self._name, **more, key: pmt.from_long(bit << self._pin)}
        return dictionary({**pins, "mask": pmt.from_long(1 << self._pin)})

    def _setup(self):
        if self._by == "gpio":
            return [dictionary({"gpio_dir": self._pins("dir", 1)})]
        if self._by == "uhd":
            return [
                dictionary({"gpio": self._pins("value", bit, attr=name)}) for name, bit in UHD_SETUP
            ]
        return []

    def _command(self, level):
        if self._by == "setting":
            return dictionary(
                {"setting": dictionary({"key": self._name, "value": "true" if level else "false"})}
            )
        more = {"attr": "OUT"} if self._by == "uhd" else {}
        return dictionary({"gpio": self._pins("value", int(level), **more)})
