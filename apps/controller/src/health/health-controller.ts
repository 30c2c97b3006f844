import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { renderMetrics } from '#lib/telemetry';
import { Readiness } from './readiness.js';

/** Metrics for Prometheus, on the same internal address as the probes. */
@Controller()
export class MetricsController {
  @Get('metrics')
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    const { contentType, text } = await renderMetrics('controller');
    await reply.header('content-type', contentType).send(text);
  }
}

/** Probes of the kubelet. Internal: it needs no key and is not to be reached from outside. */
@Controller()
export class HealthController {
  readonly #readiness: Readiness;

  constructor(@Inject(Readiness) readiness: Readiness) {
    this.#readiness = readiness;
  }

  /**
   * Answers as long as the event loop runs; a program that lost its leadership or its parent ends by itself.
   */
  @Get('healthz')
  health(): { readonly status: string } {
    return { status: 'ok' };
  }

  /** 200 when the caches are complete, else 503; says in words what the program waits for. */
  @Get('readyz')
  ready(@Res() reply: FastifyReply): void {
    const report = this.#readiness.report();
    void reply.code(report.ready ? 200 : 503).send(report);
  }
}
