#
# Copyright 2026 gr-aperture's authors.
#
# SPDX-License-Identifier: GPL-3.0-or-later
#
"""`pcap:`, packets that tcpdump or Wireshark captured."""

import pmt
from gnuradio import blocks, gr

from ... import tags
from ...formats.recordings import check_recording
from ..input_format import InputFormat, Option
from ..packet_options import OPTIONS, parameters_of, signals_of_packets, texts
from ..recordings import encoded


class Pcap(InputFormat):
    kind = "pcap"
    summary = "packets of samples that tcpdump or Wireshark captured (pcap, pcapng)"
    names = "FILE[,FILE...]"
    options = {
        **OPTIONS,
        "address": Option(
            texts,
            "addresses of the packets that are read, ADDRESS:PORT, 0.0.0.0 being any; "
            "with plain each is a stream; default: all packets",
            "ADDRESS[+ADDRESS...]",
        ),
    }

    def open(self, request):
        for name in request.names:
            check_recording(name)
        parameters = dict(
            parameters_of(request),
            files=encoded(request.names),
            addresses=request.values.get("address", []),
        )

        def start_time(source):
            """Returns the time of the first sample, which also shows that there is one."""
            block = source(1)
            sink = blocks.vector_sink_b(block.output_signature().sizeof_stream_item(0))
            top = gr.top_block("pcap")
            top.connect(block, sink)
            top.handle_sigint = False
            top.run()
            for tag in sink.tags():
                if pmt.symbol_to_string(tag.key) == tags.rx_time:
                    return pmt.to_python(tag.value)
            counts = block.counts()
            found = ", ".join(
                f"{counts[name]} {name}"
                for name in ("received", "wrong", "refused", "unwanted", "passed_over")
                if counts[name]
            )
            raise request.error(
                block.error()
                or "there are no such packets in it" + (f" ({found})" if found else "")
            )

        return signals_of_packets(request, parameters, start_time, request.names)


FORMAT = Pcap()
