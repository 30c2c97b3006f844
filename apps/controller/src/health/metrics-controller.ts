import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { renderMetrics } from '#lib/telemetry';

/** Metrics for Prometheus, on the same internal address as the probes. */
@Controller()
export class MetricsController {
  @Get('metrics')
  async metrics(@Res() reply: FastifyReply): Promise<void> {
    const { contentType, text } = await renderMetrics('controller');
    await reply.header('content-type', contentType).send(text);
  }
}
