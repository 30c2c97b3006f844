import { Module } from '@nestjs/common';
import type { TraceStore } from '#lib/trace-store';
import { TRACE_STORE } from '../core/tokens.js';
import { PriceApplications, PriceApplicationsController } from './applications-controller.js';
import { PricesController } from './prices-controller.js';
import { Prices } from './prices.js';

/** Prices of models. */
@Module({
  controllers: [PriceApplicationsController, PricesController],
  providers: [
    { provide: Prices, inject: [TRACE_STORE], useFactory: (store: TraceStore) => new Prices(store) },
    {
      provide: PriceApplications,
      inject: [TRACE_STORE],
      useFactory: (store: TraceStore) => new PriceApplications(store),
    },
  ],
})
export class PriceModule {}
