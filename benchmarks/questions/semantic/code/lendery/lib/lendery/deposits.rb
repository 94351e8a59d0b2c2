module Lendery
  module Deposits
    RATES = { 'ok' => 0.0, 'worn' => 0.0, 'damaged' => 0.5, 'lost' => 1.0 }.freeze

    module_function

    def hold(loan)
      cents = (loan.item.replacement_cents * 0.2).ceil
      Deposit.create(loan: loan, cents: cents, state: 'held')
    end

    # what came back decides how much the member sees again
    def settle(loan)
      deposit = Deposit.first(loan_id: loan.id, state: 'held') or return
      kept = (deposit.cents * RATES.fetch(loan.condition)).round
      deposit.update(state: kept.zero? ? 'released' : 'kept', kept_cents: kept)
      loan.item.update(status: 'workshop') if kept.positive?
    end
  end
end
